import { deadlineIn } from '#bus';
import type { EventType, FeedItem } from '#contracts/events';
import { AppError } from '#errors';
import type { Caller } from '../authentication/caller.ts';
import type { Deps } from '../deps.ts';
import { formatEvent, maySeeEvent } from './domain/event-filter.ts';

/** The HTTP response to which the events are written, after its headers were sent. */
export interface Sink {
  write(text: string): boolean;
  /** The number of buffered bytes that the client has not read yet. */
  readonly writableLength: number;
  readonly writableNeedDrain: boolean;
  once(event: 'drain', listener: () => void): unknown;
  end(): unknown;
  destroy(): unknown;
}

interface StreamReader {
  readonly sink: Sink;
  readonly types: readonly EventType[] | null;
  /** The stream starts after this position of the feed; null starts with new events only. */
  readonly after: number | null;
  readonly caller: Caller;
  readonly authenticate: () => Promise<Caller>;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

export type StreamDeps = Pick<Deps, 'feed' | 'notifier' | 'stopping' | 'logger'>;

const bufferedBytesMax = 1_048_576;
const heartbeatEveryMs = 15_000;
const recheckEveryMs = 60_000;
const pageSize = 200;
/**
 * The number of positions to remember of events that were written. An item that was in a page can
 * also arrive live, and must not be written twice.
 */
const rememberedPositionsMax = 4_000;

/**
 * Writes the events that a caller may see until the client disconnects, its credential is revoked
 * or the gateway stops.
 *
 * So that no event is missed, the stream collects live items from the beginning. Meanwhile it reads
 * the stored feed page by page from the reader's position. An item that arrives in both ways is
 * written once. The stream reads the stored feed again whenever the bus may have lost messages.
 */
export async function streamEvents(deps: StreamDeps, reader: StreamReader): Promise<void> {
  const { sink, signal } = reader;
  const state: StreamState = {
    caller: reader.caller,
    position: reader.after,
    writtenPositions: new Set(),
    bufferedItems: [],
    bufferedBytes: 0,
    needsPaging: true,
  };
  const endController = new AbortController();
  const endStream = () => endController.abort();
  signal.addEventListener('abort', endStream);
  deps.stopping.addEventListener('abort', endStream);
  if (signal.aborted || deps.stopping.aborted) endStream();

  const waker = createWaker(endController.signal);
  using _subscription = deps.feed.subscribe((item) => {
    if (item === null) state.needsPaging = true;
    else if (isWanted(state, reader, item)) bufferItem(state, item);
    if (state.bufferedBytes + sink.writableLength > bufferedBytesMax)
      disconnectSlowClient(deps, sink, endStream);
    waker.now();
  });
  const timers = [
    setInterval(() => {
      sendHeartbeat(deps, sink, endStream);
      // The newest item may be stored but never have been announced on the bus, so the stored feed
      // is read again.
      state.needsPaging = true;
      waker.now();
    }, heartbeatEveryMs),
    setInterval(() => void recheckCredential(reader, state, endStream), recheckEveryMs),
  ];

  try {
    sink.write('retry: 2000\n\n');
    while (!endController.signal.aborted) {
      if (state.needsPaging)
        await writeStoredItems(deps, { reader, state, ended: endController.signal });
      writeBufferedItems(state, sink);
      await waker.next();
    }
  } catch (error) {
    // The client will reconnect with its Last-Event-ID and continue after that event.
    deps.logger.warn({ err: AppError.from(error) }, 'event stream ended early');
  } finally {
    for (const timer of timers) clearInterval(timer);
    signal.removeEventListener('abort', endStream);
    deps.stopping.removeEventListener('abort', endStream);
    sink.end();
  }
}

interface StreamState {
  caller: Caller;
  position: number | null;
  readonly writtenPositions: Set<number>;
  bufferedItems: FeedItem[];
  bufferedBytes: number;
  /**
   * Whether the stored feed must be read: at the start, and after the bus may have lost messages.
   */
  needsPaging: boolean;
}

function isWanted(state: StreamState, { types }: StreamReader, item: FeedItem): boolean {
  return (
    (types === null || types.includes(item.event.type)) && maySeeEvent(state.caller.claims, item)
  );
}

function bufferItem(state: StreamState, item: FeedItem): void {
  state.bufferedItems.push(item);
  state.bufferedBytes += JSON.stringify(item.event.data).length;
}

/** Reads the stored feed page by page to its end, as fast as the client reads. */
async function writeStoredItems(
  { notifier }: StreamDeps,
  { reader, state, ended }: { reader: StreamReader; state: StreamState; ended: AbortSignal },
): Promise<void> {
  state.needsPaging = false;
  if (state.position === null) {
    const { principal } = await reader.authenticate();
    const { position } = await notifier.feedPosition({ principal }, deadlineIn(2_000));
    state.position = position;
    // This id without data lets a client resume here if it disconnects before its first event.
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
    const isLastPage = page.position <= state.position;
    state.position = Math.max(state.position, page.position);
    if (isLastPage || ended.aborted) return;
    await waitForDrain(reader.sink, ended);
  }
}

function writeBufferedItems(state: StreamState, sink: Sink): void {
  const items = state.bufferedItems;
  state.bufferedItems = [];
  state.bufferedBytes = 0;
  for (const item of items) {
    writeOnce(state, sink, item);
    state.position = Math.max(state.position ?? 0, item.position);
  }
}

function writeOnce(state: StreamState, sink: Sink, item: FeedItem): void {
  if (state.writtenPositions.has(item.position)) return;
  state.writtenPositions.add(item.position);
  if (state.writtenPositions.size > rememberedPositionsMax) {
    const [oldest] = state.writtenPositions;
    if (oldest !== undefined) state.writtenPositions.delete(oldest);
  }
  sink.write(formatEvent(item));
}

function sendHeartbeat(deps: StreamDeps, sink: Sink, endStream: () => void): void {
  if (sink.writableLength > bufferedBytesMax) disconnectSlowClient(deps, sink, endStream);
  else sink.write(': heartbeat\n\n');
}

/**
 * Disconnects a client that reads too slowly, because its unread events take memory. The client can
 * resume with its Last-Event-ID.
 */
function disconnectSlowClient({ logger }: StreamDeps, sink: Sink, endStream: () => void): void {
  logger.info({ bufferedBytesMax }, 'slow event reader dropped');
  sink.destroy();
  endStream();
}

/**
 * Ends the stream if the credential is no longer valid. Otherwise the stream uses the caller's
 * current chain and role from now on.
 */
async function recheckCredential(
  reader: StreamReader,
  state: StreamState,
  endStream: () => void,
): Promise<void> {
  try {
    state.caller = await reader.authenticate();
  } catch (error) {
    if (AppError.from(error).code !== 'unavailable') endStream();
  }
}

async function waitForDrain(sink: Sink, endSignal: AbortSignal): Promise<void> {
  if (!sink.writableNeedDrain || endSignal.aborted) return;
  await new Promise<void>((resolve) => {
    sink.once('drain', resolve);
    endSignal.addEventListener('abort', () => resolve(), { once: true });
  });
}

interface Waker {
  now(): void;
  /**
   * Resolves as soon as `now` has been called since the last call of `next`, or when the stream
   * ends.
   */
  next(): Promise<void>;
}

function createWaker(endSignal: AbortSignal): Waker {
  let isWoken = false;
  let resolveNext: (() => void) | undefined;
  const wakeNow = () => {
    isWoken = true;
    resolveNext?.();
  };
  endSignal.addEventListener('abort', wakeNow, { once: true });
  return {
    now: wakeNow,
    async next() {
      if (!isWoken) await new Promise<void>((resolve) => (resolveNext = resolve));
      isWoken = false;
      resolveNext = undefined;
    },
  };
}
