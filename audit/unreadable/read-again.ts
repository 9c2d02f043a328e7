import { isOfItsContent, readMessage, refusalsOf } from '#events';
import { repeat } from '#process';
import type { Deps } from '../deps.ts';
import { recordEvents } from '../records/record-events.ts';
import { countUnrecorded, listUnrecorded, markRecorded } from './unreadable.sql.ts';
import type { UnreadableRow } from './unreadable.sql.ts';

const rowsPerPart = 50;
const readEveryMs = 60_000;
/**
 * Each pass also looks at rows that are up to this much older than the start of the pass before:
 * replicas of earlier releases may have stored rows in the meantime.
 */
const overlapMs = 10 * 60_000;
const countedRowsMax = 1_000;

export interface Rereading extends AsyncDisposable {
  /** The number of unreadable records that the last pass found; it counts up to 1,000. */
  count(): number;
}

/**
 * Writes audit records for events that an earlier release could not read. Runs at start, and
 * repeatedly while replicas of that release may still run.
 */
export function startReadingAgain(deps: Pick<Deps, 'db' | 'logger'>): Rereading {
  let count = 0;
  let afterRow: Pick<UnreadableRow, 'receivedAt' | 'id'> | null = null;
  const repeatedReading = repeat(readEveryMs, async () => {
    try {
      const startedAt = Date.now();
      await readUnreadableAgain(deps, afterRow);
      // This release cannot read later what it cannot read now, so the next pass leaves such a
      // record out.
      afterRow = { receivedAt: new Date(startedAt - overlapMs), id: smallestId };
      count = await countUnrecorded(deps.db, { max: countedRowsMax });
    } catch (error) {
      deps.logger.warn({ err: error }, 'unreadable records could not be looked at yet');
    }
  });
  repeatedReading.wake();
  return {
    count: () => count,
    [Symbol.asyncDispose]: () => repeatedReading[Symbol.asyncDispose](),
  };
}

const smallestId = '00000000-0000-0000-0000-000000000000';

async function readUnreadableAgain(
  deps: Pick<Deps, 'db' | 'logger'>,
  fromRow: Pick<UnreadableRow, 'receivedAt' | 'id'> | null,
): Promise<void> {
  let afterRow = fromRow;
  for (;;) {
    const rows: UnreadableRow[] = await listUnrecorded(deps.db, {
      after: afterRow,
      limit: rowsPerPart,
    });
    for (const row of rows) await recordIfReadable(deps, row);
    const lastRow = rows.at(-1);
    if (lastRow === undefined || rows.length < rowsPerPart) return;
    afterRow = lastRow;
  }
}

async function recordIfReadable(
  deps: Pick<Deps, 'db' | 'logger'>,
  { id, subject, body }: UnreadableRow,
): Promise<void> {
  const readMessageResult = readMessage(subject, body);
  if (readMessageResult.unreadable.length > 0) return;
  const events = [
    ...readMessageResult.events,
    ...readMessageResult.ofUnknownType,
    ...refusalsOf(subject, readMessageResult.refused),
  ];
  try {
    await recordEvents(deps, events);
  } catch (error) {
    if (!isOfItsContent(error)) throw error;
    return; // It can be read, but not stored. The rows after it must not wait for it.
  }
  await markRecorded(deps.db, { id });
  deps.logger.info({ id, subject }, 'record of another release can be read; recorded');
}
