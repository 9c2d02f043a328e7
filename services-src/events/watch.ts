import { JetStreamApiCodes, JetStreamApiError, jetstreamManager } from '@nats-io/jetstream';

import { storeApi } from '#bus';
import type { Bus } from '#bus';
import { repeat } from '#process';
import type { Logger } from '#telemetry';
import { eventsStream } from '../contracts/events.ts';
import type { ReaderState } from '../contracts/events.ts';

const gone: readonly number[] = [
  JetStreamApiCodes.ConsumerNotFound,
  JetStreamApiCodes.StreamNotFound,
];

interface Watched {
  readonly bus: Bus;
  readonly durable: string;
  readonly logger: Logger;
  readonly checkEveryMs: number;
  /** After how long without an acknowledgement, while there is something to read, a reader is behind. */
  readonly behindAfterMs: number;
}

/**
 * Says in the log, once, and in `state`, when a durable consumer is gone, or when nothing of
 * what waits for it is handled. Publishers notice neither: the stream takes their events all the same.
 */
export function watchReader({
  bus,
  durable,
  logger,
  checkEveryMs,
  behindAfterMs,
}: Watched): AsyncDisposable & { readonly state: () => ReaderState } {
  const store = jetstreamManager(bus.nats, { checkAPI: false, apiPrefix: storeApi });
  let state: ReaderState = 'ok';
  let progress = { floor: -1, at: performance.now() };

  const look = async (): Promise<{ state: ReaderState; waiting?: number }> => {
    try {
      const info = await (await store).consumers.info(eventsStream, durable);
      const waiting = info.num_pending + info.num_ack_pending;
      const floor = info.ack_floor.stream_seq;
      if (waiting === 0 || floor !== progress.floor) progress = { floor, at: performance.now() };
      const isBehind = performance.now() - progress.at >= behindAfterMs;
      return { state: isBehind ? 'behind' : 'ok', waiting };
    } catch (error) {
      const isMissing = error instanceof JetStreamApiError && gone.includes(error.code);
      // A server that does not answer is reported by the connection.
      return { state: isMissing ? 'missing' : state };
    }
  };
  const watching = repeat(checkEveryMs, async () => {
    const seen = await look();
    if (seen.state === state) return;
    state = seen.state;
    const fields = { durable, waiting: seen.waiting };
    if (state === 'missing') logger.error(fields, 'durable consumer is missing: run migrate');
    else if (state === 'behind') logger.error(fields, 'events are left unread');
    else logger.info(fields, 'events are read again');
  });
  watching.wake();
  return { state: () => state, [Symbol.asyncDispose]: () => watching[Symbol.asyncDispose]() };
}
