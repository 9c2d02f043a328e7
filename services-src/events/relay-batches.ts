import { errors } from '@nats-io/transport-node';

import type { Database } from '#database';
import type { Logger } from '#telemetry';
import { auditStream, eventsStream, isForAuditAlone } from '../contracts/events.ts';
import type { StreamName } from '../contracts/events.ts';
import {
  hasUnrecordedRows,
  listUnannouncedRows,
  listUnrecordedRows,
  markRowsPublished,
  markRowsRecorded,
} from './outbox.sql.ts';
import type { OutboxRow } from './outbox.sql.ts';
import { isRefusedByStream } from './stream-messages.ts';
import type { PublishRows } from './stream-messages.ts';

interface Options {
  readonly db: Database;
  readonly publish: PublishRows;
  readonly logger: Logger;
}

/** Publishes one batch of rows; `more` when further rows may be published at once. */
type PublishBatch = () => Promise<'more' | 'done'>;

const batchRowsMax = 200;

/**
 * The two steps in which a row is published. `record` publishes its record to AUDIT, and then its
 * event to EVENTS. `announce` publishes the events that EVENTS refused in the first step. So a full
 * stream EVENTS delays no record. Also, each event is published at least once, right after its
 * record: the plain subscriptions, which drop caches, receive it even when the stream refuses it.
 */
export function createRelayBatches({ db, publish, logger }: Options): {
  recordBatch: PublishBatch;
  announceBatch: PublishBatch;
  /**
   * Whether AUDIT refused a record because it is full or missing, and has accepted none since. An
   * attempt without an answer does not change this, because nobody knows then whether AUDIT has
   * room.
   */
  isAuditBlocked: () => boolean;
} {
  const failures = createFailures(logger);
  /**
   * When a stream refused its last message, the relay sends it one row at a time until it accepts
   * one.
   */
  const limitFor = (stream: StreamName) => (failures.of(stream) === undefined ? batchRowsMax : 1);
  const publishTo = async (stream: StreamName, rows: readonly OutboxRow[]) => {
    const publishedRows = await publish(stream, rows);
    if (publishedRows.hasTaken || publishedRows.failure !== undefined)
      failures.note(stream, publishedRows.failure);
    return publishedRows;
  };

  return {
    recordBatch: () =>
      db.begin(async (tx) => {
        const limit = limitFor(auditStream);
        const rows = await listUnrecordedRows(tx, { limit });
        if (rows.length === 0) {
          // Another replica may have published the row that AUDIT refused from this replica.
          // Without a row to try, this replica would never learn that AUDIT accepts records again.
          const mayTakeAgain =
            failures.of(auditStream) !== undefined && !(await hasUnrecordedRows(tx));
          if (mayTakeAgain) failures.note(auditStream, undefined);
          return 'done';
        }
        const { storedRows: stored, failure } = await publishTo(auditStream, rows);
        // Waiting for a stream EVENTS that does not answer would delay the next records until the
        // timeout.
        const isSilent = failures.of(eventsStream) instanceof errors.TimeoutError;
        const completeRows = isSilent
          ? stored.filter(({ type }) => isForAuditAlone(type))
          : (await publishTo(eventsStream, stored)).storedRows;
        await markRowsRecorded(tx, { ids: idsOf(stored), completeIds: idsOf(completeRows) });
        return failure === undefined && rows.length === limit ? 'more' : 'done';
      }),
    announceBatch: () =>
      db.begin(async (tx) => {
        const limit = limitFor(eventsStream);
        const rows = await listUnannouncedRows(tx, { limit });
        if (rows.length === 0) return 'done';
        const { storedRows: stored, failure } = await publishTo(eventsStream, rows);
        await markRowsPublished(tx, { ids: idsOf(stored) });
        return failure === undefined && rows.length === limit ? 'more' : 'done';
      }),
    isAuditBlocked: () => failures.isRefusedBy(auditStream),
  };
}

/** Remembers which streams failed the last time and which refuse, and logs when that changes. */
function createFailures(logger: Logger) {
  const lastFailures = new Map<StreamName, Error>();
  const refusingStreams = new Set<StreamName>();
  return {
    of: (stream: StreamName): Error | undefined => lastFailures.get(stream),
    isRefusedBy: (stream: StreamName): boolean => refusingStreams.has(stream),
    note(stream: StreamName, failure: Error | undefined): void {
      if (isRefusedByStream(failure)) refusingStreams.add(stream);
      if (failure === undefined) {
        refusingStreams.delete(stream);
        if (lastFailures.delete(stream)) logger.info({ stream }, 'the stream takes events again');
        return;
      }
      if (!lastFailures.has(stream))
        logger.warn({ err: failure, stream }, 'the stream takes no events');
      lastFailures.set(stream, failure);
    },
  };
}

function idsOf(rows: readonly OutboxRow[]): string[] {
  return rows.map(({ id }) => id);
}
