import { jetstreamManager } from '@nats-io/jetstream';
import type { StreamInfo } from '@nats-io/jetstream';

import { storeApi } from '#bus';
import type { Bus } from '#bus';
import type { Database } from '#database';
import type { Logger } from '#telemetry';
import { eventTypes, eventsStream, isForAuditAlone, streams } from '../contracts/events.ts';
import type { EventType, StreamName } from '../contracts/events.ts';
import {
  advanceRepetition,
  listPublishedRows,
  lockRepetition,
  rememberStream,
} from './outbox.sql.ts';
import type { OutboxRow } from './outbox.sql.ts';
import type { PublishRows } from './stream-messages.ts';

interface Options {
  readonly db: Database;
  readonly bus: Bus;
  readonly publish: PublishRows;
  readonly logger: Logger;
  readonly isStopped: () => boolean;
}

const batchRowsMax = 200;
/**
 * The member of a stream's metadata to which `migrate` gives a new value whenever it creates the
 * stream. The creation time that the server reports is not used, because it also changes when a
 * stream was updated and the server restarts.
 */
export const incarnationKey = 'incarnation';
const auditOnlyTypes = (Object.keys(eventTypes) as EventType[]).filter(isForAuditAlone);

/**
 * Returns a function that checks whether each stream is still the one to which the outbox was
 * published. If not, the earlier stream was lost, perhaps with messages that nobody had read, so
 * the function publishes the rows of the last seven days to the new stream. Readers recognise the
 * events that they have already handled by their ids.
 */
export function createLostStreamRepeater({
  db,
  bus,
  publish,
  logger,
  isStopped,
}: Options): () => Promise<void> {
  const store = jetstreamManager(bus.nats, { checkAPI: false, apiPrefix: storeApi });

  const repeatBatch = (stream: StreamName): Promise<'more' | 'done'> =>
    db.begin(async (tx) => {
      const repetition = await lockRepetition(tx, { stream });
      if (repetition === undefined) return 'done';
      const omittedTypes = stream === eventsStream ? auditOnlyTypes : [];
      const rows = await listPublishedRows(tx, {
        ...repetition,
        without: omittedTypes,
        limit: batchRowsMax,
      });
      const { failure } = await publish(stream, rows.filter(hasBody));
      if (failure !== undefined) throw failure;
      const after = rows.length < batchRowsMax ? null : (rows.at(-1)?.id ?? null);
      await advanceRepetition(tx, { stream, after });
      if (after === null)
        logger.info({ stream }, 'everything of seven days was published to a new stream');
      return after === null ? 'done' : 'more';
    });

  return async () => {
    for (const stream of streams) {
      try {
        let info = await (await store).streams.info(stream);
        const incarnation = info.config.metadata?.[incarnationKey] ?? 'unknown';
        if ((await rememberStream(db, { stream, incarnation })) === 'other') {
          logger.warn({ stream }, 'a stream was made anew: publishing to it again');
        }
        // Repeated records must not fill the stream AUDIT: a full one refuses calls.
        while (!isStopped() && isHalfEmpty(info) && (await repeatBatch(stream)) === 'more') {
          info = await (await store).streams.info(stream);
        }
      } catch (error) {
        logger.debug({ err: error, stream }, 'a stream could not be compared yet');
      }
    }
  };
}

function hasBody(row: { body: string | null }): row is OutboxRow {
  return row.body !== null;
}

function isHalfEmpty({ state, config }: StreamInfo): boolean {
  return config.max_bytes <= 0 || state.bytes < config.max_bytes / 2;
}
