import { JetStreamApiCodes, JetStreamApiError, jetstreamManager } from '@nats-io/jetstream';
import type { ConsumerInfo } from '@nats-io/jetstream';

import { storeApi } from '#bus';
import type { Bus } from '#bus';
import { repeat } from '#process';
import type { Logger } from '#telemetry';
import { durableConsumers } from '../contracts/events.ts';
import type { DurableConsumerName, ReaderState } from '../contracts/events.ts';
import type { Unhandled } from './unhandled.ts';

const missingCodes: readonly number[] = [
  JetStreamApiCodes.ConsumerNotFound,
  JetStreamApiCodes.StreamNotFound,
];

interface WatchedReader {
  readonly bus: Bus;
  readonly durable: DurableConsumerName;
  readonly logger: Logger;
  /** The messages that this replica of the reader received and has not handled. */
  readonly unhandled: Unhandled;
  readonly checkEveryMs: number;
  /**
   * A reader counts as behind when events are pending and one of two things is true for this long:
   * no event was delivered or acknowledged, or this replica has been stuck with one event.
   */
  readonly behindAfterMs: number;
}

/**
 * Reports, in `state` and once in the log, that a durable consumer is missing or that none of its
 * pending events are handled. Publishers would notice neither problem, because the stream still
 * accepts their events.
 */
export function watchReader({
  bus,
  durable,
  logger,
  unhandled,
  checkEveryMs,
  behindAfterMs,
}: WatchedReader): AsyncDisposable & { readonly state: () => ReaderState } {
  const store = jetstreamManager(bus.nats, { checkAPI: false, apiPrefix: storeApi });
  let state: ReaderState = 'ok';
  let progress = { mark: '', at: performance.now() };

  const checkReader = async (): Promise<{ state: ReaderState; waiting?: number }> => {
    try {
      const info = await (await store).consumers.info(durableConsumers[durable].stream, durable);
      const waitingCount = info.num_pending + info.num_ack_pending;
      const newMark = progressMark(info);
      if (waitingCount === 0 || newMark !== progress.mark)
        progress = { mark: newMark, at: performance.now() };
      const isStandingStill = performance.now() - progress.at >= behindAfterMs;
      const isBehind = waitingCount > 0 && (isStandingStill || unhandled.isStuckFor(behindAfterMs));
      return { state: isBehind ? 'behind' : 'ok', waiting: waitingCount };
    } catch (error) {
      const isMissing = error instanceof JetStreamApiError && missingCodes.includes(error.code);
      // The state stays as it was when the NATS server does not answer, because the bus connection
      // reports that.
      return { state: isMissing ? 'missing' : state };
    }
  };
  const checkLoop = repeat(checkEveryMs, async () => {
    const checkResult = await checkReader();
    if (checkResult.state === state) return;
    state = checkResult.state;
    const fields = { durable, waiting: checkResult.waiting };
    if (state === 'missing') logger.error(fields, 'durable consumer is missing: run migrate');
    else if (state === 'behind') logger.error(fields, 'events are left unread');
    else logger.info(fields, 'events are read again');
  });
  checkLoop.wake();
  return { state: () => state, [Symbol.asyncDispose]: () => checkLoop[Symbol.asyncDispose]() };
}

/**
 * A text that changes while any replica makes progress. Progress is an acknowledgement or the
 * delivery of a new message. Once all messages were delivered, a repeated delivery counts as well:
 * a message that is left to a later release makes no other progress and keeps `ack_floor` where it
 * is.
 */
function progressMark({ ack_floor, delivered, num_pending }: ConsumerInfo): string {
  const takenMessages =
    num_pending > 0 ? `to ${delivered.stream_seq}` : `all, in ${delivered.consumer_seq} deliveries`;
  return `${ack_floor.stream_seq} ${ack_floor.last_active} ${takenMessages}`;
}
