import { jetstream } from '@nats-io/jetstream';
import type { Consumer, ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';

import { storeApi } from '#bus';
import type { Bus } from '#bus';
import type { Transaction } from '#database';
import type { Logger } from '#telemetry';
import { belongsTo, event as eventSchema, eventsStream } from '../contracts/events.ts';
import type { Event, ReaderState, durableConsumers } from '../contracts/events.ts';
import { refusalOf } from './refusal.ts';
import { watchReader } from './watch.ts';

interface ConsumeOptions {
  /** Logged in as the component's reader. */
  readonly bus: Bus;
  readonly durable: keyof typeof durableConsumers;
  /** Commits the effect of a batch; called again with the same events after a failure. */
  readonly handle: (events: Event[]) => Promise<void>;
  readonly logger: Logger;
  /** Whether `handle` gets a record of each event that was not believed; for the audit log. */
  readonly recordsRefusals?: boolean;
  /**
   * How long events may be left in the stream for others to join them: what costs a transaction is
   * then shared, and whoever publishes shares the server and this process with no delivery.
   * Default 0: each is sent here as it comes.
   */
  readonly lingerMs?: number;
  readonly checkEveryMs?: number;
  readonly behindAfterMs?: number;
}

export interface Reader extends AsyncDisposable {
  /** As of the last look, some seconds ago at most. */
  readonly state: () => ReaderState;
}

const batchMax = 256;
/** How long one request for events stands at the server before it is made anew. */
const expires = 5_000;
/** A message holds one event, or an array of those that were published together. */
const eventsSchema = z.compile(z.array(eventSchema).min(1).max(256));
const redeliverAfterMs = 1_000;

/**
 * Feeds a durable consumer's events to `handle` in batches, and acknowledges them after it has
 * committed. Delivery is at least once, in any order: `handle` must be idempotent by event id.
 */
export function consumeEvents({
  bus,
  durable,
  handle,
  logger,
  recordsRefusals = false,
  lingerMs = 0,
  checkEveryMs = 5_000,
  behindAfterMs = 60_000,
}: ConsumeOptions): Reader {
  const handling = { handle, logger, recordsRefusals };
  let stopped = false;
  let messages: ConsumerMessages | undefined;

  const follow = async (consumer: Consumer) => {
    const batches = openBatches(handling);
    // Called back, not iterated: nothing may wait where it would be left when this stops.
    messages = await consumer.consume({
      max_messages: batchMax,
      callback: batches.add,
      // Otherwise it would look for a consumer that is gone without ever saying so.
      abort_on_missing_resource: true,
    });
    const failure = await messages.closed();
    await batches.worked();
    if (failure) throw failure;
  };
  const take = async (consumer: Consumer, batch: JsMsg[], max: number) => {
    messages = await consumer.fetch({ max_messages: max, expires });
    for await (const message of messages) batch.push(message);
  };
  const gather = async (consumer: Consumer) => {
    while (!stopped) {
      const batch: JsMsg[] = [];
      try {
        await take(consumer, batch, 1);
        if (batch.length === 0) continue;
        if ((batch[0]?.info.pending ?? 0) < batchMax) await delay(lingerMs);
        // Asking for more than there is would wait for it.
        const { num_pending: pending } = await consumer.info();
        if (pending > 0 && !stopped) await take(consumer, batch, Math.min(pending, batchMax));
      } finally {
        // Also what came before a failure: it would come again only after `ack_wait`.
        if (batch.length > 0) await process(batch, handling);
      }
    }
  };
  const run = async () => {
    while (!stopped) {
      try {
        const consumer = await jetstream(bus.nats, { apiPrefix: storeApi }).consumers.get(
          eventsStream,
          durable,
        );
        await (lingerMs === 0 ? follow(consumer) : gather(consumer));
      } catch (error) {
        if (!stopped) logger.warn({ err: error, durable }, 'events cannot be read yet');
      }
      if (!stopped) await delay(500);
    }
  };
  const running = run();
  const watching = watchReader({ bus, durable, logger, checkEveryMs, behindAfterMs });

  return {
    state: watching.state,
    async [Symbol.asyncDispose]() {
      stopped = true;
      await watching[Symbol.asyncDispose]();
      await messages?.close();
      await toldServer(bus);
      await running;
    },
  };
}

/** Until the server knows that nobody reads here, it sends here what a replica should have. */
async function toldServer({ nats }: Bus): Promise<void> {
  if (nats.isClosed()) return;
  await Promise.race([nats.flush().catch(() => {}), delay(500, undefined, { ref: false })]);
}

type Handling = Required<Pick<ConsumeOptions, 'handle' | 'logger' | 'recordsRefusals'>>;

/** Collects what arrives while a batch is in hand, so that a backlog is worked off in few transactions. */
function openBatches(options: Handling) {
  let waiting: JsMsg[] = [];
  let working: Promise<void> | undefined;

  const work = async () => {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, batchMax);
      await process(batch, options);
    }
    working = undefined;
  };
  return {
    add: (message: JsMsg) => {
      waiting.push(message);
      working ??= Promise.resolve().then(work);
    },
    /** Resolves when nothing is in hand. */
    worked: async () => working,
  };
}

async function process(batch: JsMsg[], handling: Handling): Promise<void> {
  const { handle, logger } = handling;
  const parsed = batch.flatMap((message) => {
    const result = eventsSchema.safeParse([parseJson(message)].flat());
    if (result.success) return [{ message, events: believed(message, result.data, handling) }];
    // Nothing can ever be made of it, so it must not come back for ever.
    logger.error({ subject: message.subject, issues: result.error.issues }, 'event is malformed');
    message.term();
    return [];
  });
  if (parsed.length === 0) return;
  try {
    const events = parsed.flatMap((each) => each.events);
    if (events.length > 0) await handle(events);
    for (const { message } of parsed) message.ack();
  } catch (error) {
    if (parsed.length > 1) {
      // One bad event must not hold up the others.
      for (const { message } of parsed) await process([message], handling);
      return;
    }
    logger.warn({ err: error, subject: parsed[0]?.message.subject }, 'event not handled yet');
    parsed[0]?.message.nak(redeliverAfterMs);
  }
}

/** Each component publishes below its own name only, so the subject tells who speaks; the body may say anything. */
function believed(
  { subject }: JsMsg,
  events: readonly Event[],
  { logger, recordsRefusals }: Handling,
): Event[] {
  return events.flatMap((event) => {
    if (belongsTo(subject, event.type)) return [event];
    logger.error(
      { subject, type: event.type, eventId: event.id },
      'event refused: not the type of its subject',
    );
    return recordsRefusals ? [refusalOf(subject, event)] : [];
  });
}

function parseJson(message: JsMsg): unknown {
  try {
    return message.json();
  } catch {
    return undefined; // Refused by the schema, which says where it came from.
  }
}

/** Notes an event in the component's inbox; false when its effect was already committed. */
export async function rememberEvent(tx: Transaction, event: Event): Promise<boolean> {
  const rows = await tx`
    insert into inbox (event_id)
    values (${event.id})
        on conflict do nothing
    returning event_id
  `;
  return rows.length === 1;
}
