import { deadlineIn } from '#bus';
import type { EventType, FeedItem } from '#contracts/events';
import { AppError } from '#errors';
import type { Caller } from './authenticate.ts';
import type { Deps } from './deps.ts';
import { formatEvent, maySee } from './domain/event-filter.ts';

/** Where the events go: a response whose head is sent. */
export interface Sink {
  write(text: string): boolean;
  /** Bytes written that the client has not taken. */
  readonly writableLength: number;
  readonly writableNeedDrain: boolean;
  once(event: 'drain', listener: () => void): unknown;
  end(): unknown;
  destroy(): unknown;
}

interface Reader {
  readonly sink: Sink;
  readonly types: readonly EventType[] | null;
  /** Position after which to start; null for now. */
  readonly after: number | null;
  readonly caller: Caller;
  readonly authenticate: () => Promise<Caller>;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
}

export type StreamDeps = Pick<Deps, 'feed' | 'notifier' | 'stopping' | 'logger'>;

const bufferedBytesMax = 1_048_576;
const heartbeatEveryMs = 15_000;
const recheckEveryMs = 60_000;
const pageSize = 200;
/** Positions written lately, to tell a live item from one that a page already held. */
const rememberedMax = 4_000;

/**
 * Writes the events a caller may see until the client, its credential or the gateway is gone.
 *
 * Live items are collected from the first moment; then the feed is paged from where the reader
 * stands, and what both hold is written once. The same is done again whenever the bus may have
 * lost messages. So nothing is missed between page and live.
 */
export async function streamEvents(deps: StreamDeps, reader: Reader): Promise<void> {
  const { sink, signal } = reader;
  const state: StreamState = {
    caller: reader.caller,
    position: reader.after,
    written: new Set(),
    waiting: [],
    waitingBytes: 0,
    isBehind: true,
  };
  const ended = new AbortController();
  const end = () => ended.abort();
  signal.addEventListener('abort', end);
  deps.stopping.addEventListener('abort', end);
  if (signal.aborted || deps.stopping.aborted) end();

  const wake = createWake(ended.signal);
  using _subscription = deps.feed.subscribe((item) => {
    if (item === null) state.isBehind = true;
    else if (isWanted(state, reader, item)) collect(state, item);
    if (state.waitingBytes + sink.writableLength > bufferedBytesMax) drop(deps, sink, end);
    wake.now();
  });
  const timers = [
    setInterval(() => {
      beat(deps, sink, end);
      // What was stored last may never have been announced.
      state.isBehind = true;
      wake.now();
    }, heartbeatEveryMs),
    setInterval(() => void recheck(reader, state, end), recheckEveryMs),
  ];

  try {
    sink.write('retry: 2000\n\n');
    while (!ended.signal.aborted) {
      if (state.isBehind) await catchUp(deps, { reader, state, ended: ended.signal });
      flush(state, sink);
      await wake.next();
    }
  } catch (thrown) {
    // The client comes back with its Last-Event-ID and goes on from there.
    deps.logger.warn({ err: AppError.from(thrown) }, 'event stream ended early');
  } finally {
    for (const timer of timers) clearInterval(timer);
    signal.removeEventListener('abort', end);
    deps.stopping.removeEventListener('abort', end);
    sink.end();
  }
}

interface StreamState {
  caller: Caller;
  position: number | null;
  readonly written: Set<number>;
  waiting: FeedItem[];
  waitingBytes: number;
  /** The feed must be paged: at the start, and after a lost bus. */
  isBehind: boolean;
}

function isWanted(state: StreamState, { types }: Reader, item: FeedItem): boolean {
  return (types === null || types.includes(item.event.type)) && maySee(state.caller.claims, item);
}

function collect(state: StreamState, item: FeedItem): void {
  state.waiting.push(item);
  state.waitingBytes += JSON.stringify(item.event.data).length;
}

/** Pages the feed to its end, at the client's pace. */
async function catchUp(
  { notifier }: StreamDeps,
  { reader, state, ended }: { reader: Reader; state: StreamState; ended: AbortSignal },
): Promise<void> {
  state.isBehind = false;
  if (state.position === null) {
    const { principal } = await reader.authenticate();
    const { position } = await notifier.feedPosition({ principal }, deadlineIn(2_000));
    state.position = position;
    // An id without data: a client that is cut off before its first event comes back to here.
    reader.sink.write(`id: ${position}\n\n`);
    return;
  }
  for (;;) {
    const { principal } = await reader.authenticate();
    const types = reader.types === null ? null : [...reader.types];
    const page = await notifier.listFeed(
      { principal, after: state.position, types, limit: pageSize },
      deadlineIn(3_000),
    );
    for (const item of page.items) writeOnce(state, reader.sink, item);
    const isEnd = page.position <= state.position;
    state.position = Math.max(state.position, page.position);
    if (isEnd || ended.aborted) return;
    await drained(reader.sink, ended);
  }
}

function flush(state: StreamState, sink: Sink): void {
  const items = state.waiting;
  state.waiting = [];
  state.waitingBytes = 0;
  for (const item of items) {
    writeOnce(state, sink, item);
    state.position = Math.max(state.position ?? 0, item.position);
  }
}

function writeOnce(state: StreamState, sink: Sink, item: FeedItem): void {
  if (state.written.has(item.position)) return;
  state.written.add(item.position);
  if (state.written.size > rememberedMax) {
    const [oldest] = state.written;
    if (oldest !== undefined) state.written.delete(oldest);
  }
  sink.write(formatEvent(item));
}

function beat(deps: StreamDeps, sink: Sink, end: () => void): void {
  if (sink.writableLength > bufferedBytesMax) drop(deps, sink, end);
  else sink.write(': heartbeat\n\n');
}

/** A reader that does not read costs memory; it may come back with its Last-Event-ID. */
function drop({ logger }: StreamDeps, sink: Sink, end: () => void): void {
  logger.info({ bufferedBytesMax }, 'slow event reader dropped');
  sink.destroy();
  end();
}

/** Ends the stream when the credential no longer holds; sees with the chain and role of now. */
async function recheck(reader: Reader, state: StreamState, end: () => void): Promise<void> {
  try {
    state.caller = await reader.authenticate();
  } catch (thrown) {
    if (AppError.from(thrown).code !== 'unavailable') end();
  }
}

async function drained(sink: Sink, ended: AbortSignal): Promise<void> {
  if (!sink.writableNeedDrain || ended.aborted) return;
  await new Promise<void>((resolve) => {
    sink.once('drain', resolve);
    ended.addEventListener('abort', () => resolve(), { once: true });
  });
}

interface Wake {
  now(): void;
  /** Resolves when woken since it was last asked, or at the end. */
  next(): Promise<void>;
}

function createWake(ended: AbortSignal): Wake {
  let isWoken = false;
  let resolveNext: (() => void) | undefined;
  const now = () => {
    isWoken = true;
    resolveNext?.();
  };
  ended.addEventListener('abort', now, { once: true });
  return {
    now,
    async next() {
      if (!isWoken) await new Promise<void>((resolve) => (resolveNext = resolve));
      isWoken = false;
      resolveNext = undefined;
    },
  };
}
