import { jetstream } from '@nats-io/jetstream';

import type { Bus } from '#bus';
import type { Database } from '#database';
import { repeat } from '#process';
import type { Logger } from '#telemetry';
import { eventSubject } from '../contracts/events.ts';
import type { EventType } from '../contracts/events.ts';
import type { Component } from '../contracts/vocabulary.ts';

interface RelayOptions {
  readonly db: Database;
  readonly bus: Bus;
  readonly owner: Component;
  readonly logger: Logger;
}

interface OutboxRow {
  id: string;
  type: EventType;
  body: string;
}

const batchMax = 200;
/** How soon rows are found whose writer died between commit and wake. */
const pollEveryMs = 1_000;
const lingerMs = 100;

/**
 * Moves committed events from a component's outbox to the stream. Any number of replicas may
 * run one: rows are claimed with `skip locked`, and the event id de-duplicates at JetStream. A row
 * may have been published before, by one that died, so that the stream has it already is success.
 */
export function startRelay({ db, bus, owner, logger }: RelayOptions): AsyncDisposable {
  const stream = jetstream(bus.nats, { timeout: 5_000 });

  const relayBatch = () =>
    db.begin(async (tx) => {
      const rows = await tx<OutboxRow[]>`
          select id, type, body
            from outbox
           where published_at is null
           order by id
           limit ${batchMax}
             for update skip locked
      `;
      if (rows.length === 0) return 0;
      await Promise.all(
        rows.map((row) =>
          stream.publish(eventSubject(owner, row.type), row.body, { msgID: row.id }),
        ),
      );
      await tx`
        update outbox
           set published_at = now()
         where id = any(${rows.map((row) => row.id)}::uuid[])
      `;
      return rows.length;
    });

  const relaying = repeat(pollEveryMs, async () => {
    try {
      while ((await relayBatch()) === batchMax);
    } catch (error) {
      logger.warn({ err: error }, 'events could not be relayed yet');
    }
  });
  // Records for the audit log alone wait a moment for each other: under load one transaction moves many.
  let patient: NodeJS.Timeout | undefined;
  db.onEventsCommitted(({ isUrgent }) => {
    if (isUrgent) relaying.wake();
    else
      patient ??= setTimeout(() => {
        patient = undefined;
        relaying.wake();
      }, lingerMs);
  });

  const pruning = repeat(600_000, async () => {
    try {
      await db`
        delete from outbox
         where id in (select id
                        from outbox
                       where published_at < now() - interval '7 days'
                       limit 10000)
      `;
    } catch (error) {
      logger.warn({ err: error }, 'old events could not be pruned yet');
    }
  });

  return {
    async [Symbol.asyncDispose]() {
      clearTimeout(patient);
      await pruning[Symbol.asyncDispose]();
      await relaying[Symbol.asyncDispose]();
    },
  };
}
