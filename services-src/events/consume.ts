import { jetstream } from '@nats-io/jetstream';
import type { JsMsg } from '@nats-io/jetstream';
import { setTimeout as delay } from 'node:timers/promises';

import { storeApi } from '#bus';
import type { Bus } from '#bus';
import type { Transaction } from '#database';
import type { Logger } from '#telemetry';
import type { Readiness } from '../readiness/readiness.ts';
import { durableConsumers } from '../contracts/events.ts';
import type {
  DurableConsumerName,
  Event,
  ReaderState,
  ReceivedEvent,
  UnreadableEvent,
} from '../contracts/events.ts';
import { isContentFailure } from './content-failure.ts';
import { handleInSpans } from './event-spans.ts';
import { readMessage, refusalsOf, splitMessage } from './read-message.ts';
import type { ReadMessage } from './read-message.ts';
import { openReceiver } from './receive.ts';
import { leaveAgainAfterMs, trackUnhandled } from './unhandled.ts';
import type { Unhandled } from './unhandled.ts';
import { watchReader } from './watch.ts';

interface ConsumeOptions {
  /** The bus connection of the component's NATS user that reads the event stream. */
  readonly bus: Bus;
  readonly durable: DurableConsumerName;
  /**
   * Commits the effect of a batch of events. After a failure, `handle` is called again with the
   * events of that batch.
   */
  readonly handle: (events: ReceivedEvent[]) => Promise<void>;
  readonly logger: Logger;
  /**
   * Stores the events that this release cannot read. A reader with this option also gets the events
   * of unknown types. A reader without it leaves both kinds for a while to a replica of a later
   * release.
   */
  readonly keepUnreadable?: (events: UnreadableEvent[]) => Promise<void>;
  /** Whether `handle` also gets an event `event.refused` for each refused event. */
  readonly recordsRefusals?: boolean;
  /**
   * How long events may wait in the stream, so that they are delivered and handled together. Then
   * one transaction handles several events, and fewer deliveries take time from the publishers.
   * Default 0: each event is delivered at once.
   */
  readonly lingerMs?: number;
  readonly checkEveryMs?: number;
  readonly behindAfterMs?: number;
}

export interface Reader extends AsyncDisposable {
  /** The reader's state at the last check, at most a few seconds ago. */
  readonly state: () => ReaderState;
  /**
   * Makes the reader take events only while the component takes requests. Meanwhile it gives back
   * those that it has received, so that other replicas get them.
   */
  readonly follow: (readiness: Pick<Readiness, 'takesRequests' | 'onChange'>) => Disposable;
}

const redeliverAfterMs = 1_000;

/**
 * Feeds a durable consumer's events to `handle` in batches, and acknowledges them after `handle`
 * has committed. Events are delivered at least once, in any order, so `handle` must be idempotent
 * by event id.
 */
export function consumeEvents({
  bus,
  durable,
  logger,
  lingerMs = 0,
  checkEveryMs = 5_000,
  behindAfterMs = 60_000,
  ...how
}: ConsumeOptions): Reader {
  const unhandled = trackUnhandled();
  let isAway = false;
  let back = Promise.resolve();
  let comeBack = () => {};
  const handling: Handling = {
    ...how,
    handle: (events) => handleInSpans(durable, events, how.handle),
    logger,
    unhandled,
    isAway: () => isAway,
  };
  const process = (batch: JsMsg[]) => unhandled.awaitHandling(processBatch(batch, handling));
  let receiver = openReceiver({ bus, process, lingerMs });
  let isStopped = false;

  const runReceiver = async () => {
    while (!isStopped) {
      try {
        const consumer = await jetstream(bus.nats, { apiPrefix: storeApi }).consumers.get(
          durableConsumers[durable].stream,
          durable,
        );
        await receiver.receive(consumer);
      } catch (error) {
        if (isStopped) return;
        logger.warn({ err: error, durable }, 'events cannot be read yet');
        await delay(500);
      }
      await back;
    }
  };
  const receiverRun = runReceiver();
  const readerWatch = watchReader({ bus, durable, logger, unhandled, checkEveryMs, behindAfterMs });

  const setAway = (away: boolean): void => {
    if (isStopped || away === isAway) return;
    isAway = away;
    if (away) {
      ({ promise: back, resolve: comeBack } = Promise.withResolvers<void>());
      void receiver.stop().catch(() => {});
    } else {
      receiver = openReceiver({ bus, process, lingerMs });
      comeBack();
    }
  };
  return {
    state: readerWatch.state,
    follow(readiness) {
      const subscription = readiness.onChange(() => setAway(!readiness.takesRequests()));
      setAway(!readiness.takesRequests());
      return subscription;
    },
    async [Symbol.asyncDispose]() {
      isStopped = true;
      await readerWatch[Symbol.asyncDispose]();
      await receiver.stop();
      comeBack();
      await waitForServer(bus);
      await receiverRun;
    },
  };
}

/**
 * Waits until the NATS server knows that this reader is gone. Until then the server would send it
 * events that another replica should get.
 */
async function waitForServer({ nats }: Bus): Promise<void> {
  if (nats.isClosed()) return;
  await Promise.race([nats.flush().catch(() => {}), delay(500, undefined, { ref: false })]);
}

interface Handling extends Pick<
  ConsumeOptions,
  'handle' | 'logger' | 'keepUnreadable' | 'recordsRefusals'
> {
  readonly unhandled: Unhandled;
  /** Whether the reader has left the events to other replicas. */
  readonly isAway: () => boolean;
}

async function processBatch(batch: JsMsg[], handling: Handling): Promise<void> {
  if (handling.isAway()) {
    for (const message of batch) message.nak();
    return;
  }
  const messages = batch.map((message) => ({
    message,
    read: readMessage(message.subject, message.data),
  }));
  try {
    const events = messages.flatMap(({ message, read }) => selectEvents(message, read, handling));
    const unreadable = messages.flatMap(({ read }) => read.unreadable);
    if (events.length > 0) await handling.handle(events);
    if (unreadable.length > 0) await handling.keepUnreadable?.(unreadable);
    for (const { message, read } of messages) {
      if (isDoneReading(handling, read)) acknowledgeMessage(message, handling);
      else leaveToLaterRelease(message, handling);
    }
  } catch (error) {
    if (messages.length > 1) {
      // One message that fails must not hold up the others, so each is now handled alone.
      for (const { message } of messages) await processBatch([message], handling);
      return;
    }
    const [only] = messages;
    if (only === undefined) return;
    const { message } = only;
    handling.logger.warn({ err: error, subject: message.subject }, 'event not handled yet');
    if (isContentFailure(error)) await handleOneByOne(message, handling);
    else retryMessage(message, handling);
  }
}

/**
 * Handles the events of a message one by one, after their content made the whole message fail. An
 * event that fails again for its content is stored like an unreadable one. A reader that stores
 * nothing leaves the message to a later release. Without this, such messages would be delivered for
 * ever, and enough of them would stop the reader.
 */
async function handleOneByOne(message: JsMsg, handling: Handling): Promise<void> {
  const { handle, keepUnreadable } = handling;
  if (keepUnreadable === undefined) return leaveToLaterRelease(message, handling);
  const { subject, data } = message;
  try {
    for (const messagePart of splitMessage(subject, data)) {
      const read = readMessage(subject, messagePart.body);
      const events = selectEvents(message, read, handling);
      try {
        if (events.length > 0) await handle([...events]);
        if (read.unreadable.length > 0) await keepUnreadable([...read.unreadable]);
      } catch (error) {
        if (!isContentFailure(error)) throw error;
        await keepUnreadable([messagePart]);
      }
    }
    acknowledgeMessage(message, handling);
  } catch (error) {
    handling.logger.warn({ err: error, subject }, 'event not handled yet');
    retryMessage(message, handling);
  }
}

function acknowledgeMessage(message: JsMsg, { unhandled }: Handling): void {
  unhandled.noteHandled(message.seq);
  message.ack();
}

function retryMessage(message: JsMsg, { unhandled }: Handling): void {
  unhandled.noteFailure(message.seq);
  message.nak(redeliverAfterMs);
}

/**
 * The events of a message that `handle` gets. An event whose type does not belong to the subject is
 * refused: a component can publish only under its own subjects, so the subject identifies the
 * sender, while the body could name any sender.
 */
function selectEvents(
  { subject }: JsMsg,
  { events, ofUnknownType, refused }: ReadMessage,
  { logger, keepUnreadable, recordsRefusals }: Handling,
): readonly ReceivedEvent[] {
  for (const { type, id } of refused) {
    logger.error({ subject, type, eventId: id }, 'event refused: not the type of its subject');
  }
  if (ofUnknownType.length + refused.length === 0) return events;
  return [
    ...events,
    ...(keepUnreadable === undefined ? [] : ofUnknownType),
    ...(recordsRefusals === true ? refusalsOf(subject, refused) : []),
  ];
}

/**
 * Whether this reader is done with the whole message, so that no part of it is left to a later
 * release.
 */
function isDoneReading({ keepUnreadable }: Handling, read: ReadMessage): boolean {
  return (
    keepUnreadable !== undefined ||
    (read.unreadable.length === 0 && read.ofUnknownType.length === 0)
  );
}

/**
 * Leaves a message to a replica of a later release, which can read it, for as long as an upgrade
 * may take. Afterwards the message is acknowledged unread, because otherwise it would stay in the
 * stream for ever. An empty message is acknowledged at once: no release finds an event in it.
 */
function leaveToLaterRelease(message: JsMsg, handling: Handling): void {
  const { logger, unhandled } = handling;
  const { subject, info, seq: sequence } = message;
  const publishedAt = info.timestampNanos / 1_000_000;
  if (message.data.length > 0 && unhandled.noteLeft(sequence, publishedAt)) {
    if (info.deliveryCount === 1) logger.warn({ subject }, 'event is left to a later release');
    message.nak(leaveAgainAfterMs);
    return;
  }
  logger.error({ subject, sequence }, 'event is dropped: it cannot be read');
  acknowledgeMessage(message, handling);
}

/**
 * Stores the event's id in the component's inbox. Returns false when the effect of the event was
 * already committed.
 */
export async function rememberEvent(tx: Transaction, event: Event): Promise<boolean> {
  const rows = await tx`
    insert into inbox (event_id)
    values (${event.id})
        on conflict do nothing
    returning event_id
  `;
  return rows.length === 1;
}
