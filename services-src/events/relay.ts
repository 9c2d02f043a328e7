import type { Bus } from '#bus';
import { deleteInParts } from '#database';
import type { Database } from '#database';
import { repeat } from '#process';
import type { Logger } from '#telemetry';
import { limitRepeats } from '../telemetry/limit-repeats.ts';
import { observe } from '../telemetry/metrics.ts';
import type { OutboxOwner, OutboxState } from '../contracts/events.ts';
import { measureBacklog, pruneOutbox } from './outbox.sql.ts';
import { createRelayBatches } from './relay-batches.ts';
import { createLostStreamRepeater } from './repeat-lost.ts';
import { openRowPublisher } from './stream-messages.ts';

interface RelayOptions {
  readonly db: Database;
  readonly bus: Bus;
  readonly owner: OutboxOwner;
  readonly logger: Logger;
  /** The pause between two checks of the streams and of the number of waiting rows. */
  readonly checkEveryMs?: number;
  readonly pruneEveryMs?: number;
}

export interface Relay extends AsyncDisposable {
  /** The rows that waited at the last check, a few seconds ago. */
  readonly backlog: () => OutboxState;
  /**
   * Whether AUDIT refuses records because it is full or missing. The relay keeps trying, so this
   * becomes false by itself.
   */
  readonly isAuditBlocked: () => boolean;
}

/**
 * The time between two searches for rows whose process died after the commit and before it woke the
 * relay.
 */
const pollEveryMs = 1_000;
const lingerMs = 100;
/** When the oldest waiting row has at least this age, the log says that events wait. */
const waitingSecondsMax = 60;

/**
 * Moves committed events from a component's outbox to the streams: the record of each event to
 * AUDIT, and then the event to EVENTS, unless only the audit log reads events of its type. Any
 * number of replicas may run a relay, because rows are claimed with `skip locked`. A stream that
 * refuses messages does not delay those for the other stream.
 */
export function startRelay({
  db,
  bus,
  owner,
  logger,
  checkEveryMs = 5_000,
  pruneEveryMs = 60_000,
}: RelayOptions): Relay {
  const publish = openRowPublisher(bus, owner);
  let isStopped = false;
  const limitedLogger = limitRepeats(logger);
  const batches = createRelayBatches({ db, publish, logger });
  const drainBatches = async (batch: () => Promise<'more' | 'done'>) => {
    try {
      while (!isStopped && (await batch()) === 'more');
    } catch (error) {
      limitedLogger.warn({ reason: reasonOf(error) }, 'events could not be relayed yet');
    }
  };

  const recordLoop = repeat(pollEveryMs, () => drainBatches(batches.recordBatch));
  const announceLoop = repeat(pollEveryMs, () => drainBatches(batches.announceBatch));
  // Events that only the audit log reads may wait a moment, so that under load one transaction
  // moves many of them.
  let lingerTimer: NodeJS.Timeout | undefined;
  db.onEventsCommitted(({ isUrgent }) => {
    if (isUrgent) recordLoop.wake();
    else
      lingerTimer ??= setTimeout(() => {
        lingerTimer = undefined;
        recordLoop.wake();
      }, lingerMs);
  });

  let backlog: OutboxState = { waiting: 0, oldest_seconds: 0 };
  const metrics = new DisposableStack();
  const labels = { component: owner };
  metrics.use(observe('aag.outbox.waiting', () => [{ value: backlog.waiting, labels }]));
  metrics.use(observe('aag.outbox.oldest_age', () => [{ value: backlog.oldest_seconds, labels }]));
  const repeatLostEvents = createLostStreamRepeater({
    db,
    bus,
    publish,
    logger,
    isStopped: () => isStopped,
  });
  const checkLoop = repeat(checkEveryMs, async () => {
    const backlogBefore = backlog;
    backlog = await measureBacklog(db).catch(() => backlog);
    logWaiting(logger, backlogBefore, backlog);
    await repeatLostEvents();
  });
  checkLoop.wake();
  const pruneLoop = repeat(pruneEveryMs, async () => {
    try {
      await deleteInParts(async (limit) => (isStopped ? 0 : pruneOutbox(db, { limit })));
    } catch (error) {
      logger.warn({ err: error }, 'old events could not be pruned yet');
    }
  });

  return {
    backlog: () => backlog,
    isAuditBlocked: batches.isAuditBlocked,
    async [Symbol.asyncDispose]() {
      isStopped = true;
      metrics[Symbol.dispose]();
      clearTimeout(lingerTimer);
      await Promise.all(
        [pruneLoop, checkLoop, announceLoop, recordLoop].map((each) => each[Symbol.asyncDispose]()),
      );
    },
  };
}

/**
 * Logs once that rows have waited for a long time, and once that no row waits that long any more.
 */
function logWaiting(logger: Logger, before: OutboxState, now: OutboxState): void {
  const isLong = ({ oldest_seconds: seconds }: OutboxState) => seconds >= waitingSecondsMax;
  if (isLong(before) === isLong(now)) return;
  const fields = { waiting: now.waiting, oldestSeconds: now.oldest_seconds };
  if (isLong(now)) logger.warn(fields, 'events wait to be published');
  else logger.info(fields, 'events are published in time again');
}

/**
 * The reason in one line, without the stack, because every stack is the same while Postgres is
 * unreachable.
 */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // A failure to connect to several addresses of one name has a code and no message.
  return error.message || ('code' in error ? String(error.code) : error.name);
}
