import { JetStreamApiCodes, JetStreamApiError, jetstreamManager } from '@nats-io/jetstream';
import type { ConsumerInfo, StreamInfo } from '@nats-io/jetstream';

import { storeApi } from '#bus';
import type { Bus } from '#bus';
import { repeat } from '#process';
import { observe } from '#telemetry';
import type { Logger } from '#telemetry';
import { durableConsumers, streams } from '../contracts/events.ts';
import type {
  ConsumerState,
  DurableConsumerName,
  StreamName,
  StreamState,
} from '../contracts/events.ts';

interface Options {
  readonly bus: Bus;
  readonly logger: Logger;
  readonly checkEveryMs?: number;
  /** A consumer counts as behind when messages wait and no reader has taken any for this long. */
  readonly behindAfterMs?: number;
}

export interface StreamStates {
  readonly streams: Readonly<Record<StreamName, StreamState>>;
  readonly consumers: Readonly<Record<DurableConsumerName, ConsumerState>>;
}

export interface StreamWatch extends AsyncDisposable {
  /** The states at the last check, a few seconds ago at most. */
  readonly states: () => StreamStates;
}

const warnPercent = 50;
const errorPercent = 80;
const missingCodes: readonly number[] = [
  JetStreamApiCodes.ConsumerNotFound,
  JetStreamApiCodes.StreamNotFound,
];
const consumerNames = Object.keys(durableConsumers) as DurableConsumerName[];
const unknownStreamState: StreamState = {
  status: 'unknown',
  fill_percent: 0,
  messages: 0,
  bytes: 0,
  bytes_max: 0,
  oldest_seconds: 0,
};
const unknownConsumerState: ConsumerState = { status: 'unknown', waiting: 0, unread_seconds: 0 };

/**
 * Watches how full the streams are, and whether their consumers exist and are read. A full stream
 * AUDIT makes calls fail, and EVENTS drops the events that a missing consumer should get; the log
 * warns before either happens. The gateway watches this, because a component that is absent cannot
 * report that it does not read.
 */
export function watchStreams({
  bus,
  logger,
  checkEveryMs = 5_000,
  behindAfterMs = 60_000,
}: Options): StreamWatch {
  const store = jetstreamManager(bus.nats, { checkAPI: false, apiPrefix: storeApi });
  const states = {
    streams: Object.fromEntries(streams.map((name) => [name, unknownStreamState])) as Record<
      StreamName,
      StreamState
    >,
    consumers: Object.fromEntries(
      consumerNames.map((name) => [name, unknownConsumerState]),
    ) as Record<DurableConsumerName, ConsumerState>,
  };

  const checkLoop = repeat(checkEveryMs, async () => {
    const { streams: streamApi, consumers: consumerApi } = await store;
    const streamInfos = new Map<StreamName, StreamInfo>();
    for (const stream of streams) {
      const info = await streamApi.info(stream).catch(statusOfError);
      if (typeof info === 'object') streamInfos.set(stream, info);
      const stateBefore = states.streams[stream];
      states.streams[stream] =
        typeof info === 'string' ? { ...stateBefore, status: info } : streamStateOf(info);
      logFill(logger, stream, stateBefore, states.streams[stream]);
    }
    for (const durable of consumerNames) {
      const { stream } = durableConsumers[durable];
      const info = await consumerApi.info(stream, durable).catch(statusOfError);
      const stateBefore = states.consumers[durable];
      states.consumers[durable] =
        typeof info === 'string'
          ? { ...stateBefore, status: info }
          : consumerStateOf(info, streamInfos.get(stream), behindAfterMs);
      logLag(logger, durable, stateBefore, states.consumers[durable]);
    }
  });
  checkLoop.wake();
  const metrics = observeStates(states);
  return {
    states: () => states,
    async [Symbol.asyncDispose]() {
      metrics[Symbol.dispose]();
      await checkLoop[Symbol.asyncDispose]();
    },
  };
}

/** Reports what NATS said when it answered the last time. */
function observeStates({ streams: streamStates, consumers }: StreamStates): Disposable {
  const known = <Name extends string, State extends { status: string }>(
    states: Readonly<Record<Name, State>>,
  ) =>
    (Object.entries(states) as [Name, State][]).filter(
      ([, { status }]) => status !== 'unknown' && status !== 'missing',
    );
  const metrics = new DisposableStack();
  metrics.use(
    observe('aag.stream.fill', () =>
      known(streamStates).map(([stream, { fill_percent: percent }]) => ({
        value: percent / 100,
        labels: { stream },
      })),
    ),
  );
  metrics.use(
    observe('aag.consumer.waiting', () =>
      known(consumers).map(([consumer, { waiting: value }]) => ({ value, labels: { consumer } })),
    ),
  );
  metrics.use(
    observe('aag.consumer.unread_time', () =>
      known(consumers).map(([consumer, { unread_seconds: value }]) => ({
        value,
        labels: { consumer },
      })),
    ),
  );
  return metrics;
}

function statusOfError(error: unknown): 'missing' | 'unknown' {
  const isMissing = error instanceof JetStreamApiError && missingCodes.includes(error.code);
  return isMissing ? 'missing' : 'unknown';
}

function streamStateOf({ state, config }: StreamInfo): StreamState {
  const { messages, bytes } = state;
  const fillPercent =
    config.max_bytes > 0 ? Math.round((bytes / config.max_bytes) * 1_000) / 10 : 0;
  return {
    status: fillPercent >= errorPercent ? 'degraded' : 'ok',
    fill_percent: fillPercent,
    messages,
    bytes,
    bytes_max: config.max_bytes,
    oldest_seconds: messages === 0 ? 0 : secondsSince(Date.parse(state.first_ts)),
  };
}

/**
 * How far a consumer is behind: the time since a message was last acknowledged or delivered, or
 * since the stream's oldest message came if that was later. (The server does not tell the age of
 * the oldest message that waits for one consumer.) A delivery counts as reading, because a message
 * that a reader leaves to a later release waits although the reader works; a reader that receives
 * messages and handles none reports that itself.
 */
function consumerStateOf(
  { num_pending, num_ack_pending, ack_floor, delivered }: ConsumerInfo,
  stream: StreamInfo | undefined,
  behindAfterMs: number,
): ConsumerState {
  const waitingCount = num_pending + num_ack_pending;
  if (waitingCount === 0) return { status: 'ok', waiting: waitingCount, unread_seconds: 0 };
  // The library declares `last_active` as a number, but the server sends a time as text.
  const times = [ack_floor.last_active, delivered.last_active, stream?.state.first_ts].map((time) =>
    Date.parse(String(time ?? '')),
  );
  const knownTimes = times.filter((time) => time > 0);
  const unread = knownTimes.length === 0 ? 0 : secondsSince(Math.max(...knownTimes));
  return {
    status: unread * 1_000 >= behindAfterMs ? 'behind' : 'ok',
    waiting: waitingCount,
    unread_seconds: unread,
  };
}

function secondsSince(time: number): number {
  return Math.max(0, Math.round((Date.now() - time) / 1_000));
}

type Alarm = 'none' | 'warn' | 'error';

function alarmOf({ status, fill_percent: fillPercent }: StreamState): Alarm {
  if (status === 'missing' || fillPercent >= errorPercent) return 'error';
  return fillPercent >= warnPercent ? 'warn' : 'none';
}

function logFill(
  logger: Logger,
  stream: StreamName,
  stateBefore: StreamState,
  stateNow: StreamState,
): void {
  if (
    alarmOf(stateBefore) === alarmOf(stateNow) &&
    (stateBefore.status === 'missing') === (stateNow.status === 'missing')
  )
    return;
  const { fill_percent: fillPercent, oldest_seconds: oldestSeconds, messages } = stateNow;
  const fields = { stream, fillPercent, messages, oldestSeconds };
  if (stateNow.status === 'missing') logger.error({ stream }, 'stream is missing: run migrate');
  else if (alarmOf(stateNow) === 'error') logger.error(fields, 'stream is nearly full');
  else if (alarmOf(stateNow) === 'warn') logger.warn(fields, 'stream fills');
  else logger.info(fields, 'stream has room again');
}

function logLag(
  logger: Logger,
  durable: DurableConsumerName,
  stateBefore: ConsumerState,
  stateNow: ConsumerState,
): void {
  if (stateBefore.status === stateNow.status || stateNow.status === 'unknown') return;
  const { stream } = durableConsumers[durable];
  const fields = {
    stream,
    durable,
    waiting: stateNow.waiting,
    unreadSeconds: stateNow.unread_seconds,
  };
  if (stateNow.status === 'missing')
    logger.error(fields, 'durable consumer is missing: run migrate');
  else if (stateNow.status === 'behind') logger.error(fields, 'events are left unread');
  else if (stateBefore.status !== 'unknown') logger.info(fields, 'events are read again');
}
