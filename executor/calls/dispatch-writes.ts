import { PostgresError } from '#database';
import type { Database } from '#database';
import type { EventRow } from '#events';
import { handleInGroups } from '#process';
import { finishDispatchesAndStoreEvents, insertDispatchesAndEvents } from './dispatches.sql.ts';
import { finishDispatchAndStoreEvent, insertDispatchAndEvent } from './dispatch.sql.ts';
import type { DispatchClaim, DispatchEnd } from './dispatch.sql.ts';

/** What is committed of a non-read before and after it is sent. */
export interface DispatchWrites {
  /** Commits a dispatch row and its intent. False when the row exists already. */
  readonly claim: (claim: DispatchClaim) => Promise<boolean>;
  /** Commits an outcome and its event. False when another executor has decided the outcome. */
  readonly finish: (end: DispatchEnd) => Promise<boolean>;
}

/**
 * Up to this many are written at once, each alone. More would wait for the disk and for one another
 * as long as a common statement, and cost more.
 */
const aloneMax = 4;
/** How long other writes wait for a write that is alone. Its row may be held by another executor. */
const aloneWaitMs = 100;
const groupRowsMax = 64;
const groupCharactersMax = 1_048_576;

/**
 * Writes the rows of many calls that run at the same time in common statements, each of which commits
 * by itself: a round trip and a commit cost more than the rows. When the server refuses a statement,
 * it has stored nothing, and each row is written alone, because one call must not fail because of
 * another. Neither must it wait for another, so rows that another executor holds are written alone,
 * too. When the connection is lost, nobody knows what was stored, so all of these calls fail.
 */
export function createDispatchWrites(db: Database): DispatchWrites {
  const inGroups = <T extends { readonly event: EventRow }>({
    write,
    writeGroup,
    charactersOf,
  }: {
    write: (sql: Database, item: T) => Promise<boolean>;
    writeGroup: (sql: Database, group: readonly T[]) => Promise<boolean[]>;
    charactersOf: (item: T) => number;
  }) =>
    handleInGroups({
      handle: async (group: readonly T[]) => {
        const writeAlone = async (item: T) => {
          const isStored = await write(db, item);
          if (isStored) db.markEvents(item.event);
          return isStored;
        };
        const [first] = group;
        if (group.length === 1 && first !== undefined) {
          const written = writeAlone(first);
          await waitFor(written, aloneWaitMs);
          return [written];
        }
        const areStored = await writeGroup(db, group);
        for (const { event } of group.filter((_, at) => areStored[at])) db.markEvents(event);
        // Another executor may hold the row of an item that was not stored.
        return group.map((item, at) => areStored[at] || writeAlone(item));
      },
      sizeOf: (item) => charactersOf(item) + item.event.body.length,
      sizeMax: () => groupCharactersMax,
      itemsMax: groupRowsMax,
      aloneMax,
      separatesAfter: (error) => error instanceof PostgresError,
    });
  return {
    claim: inGroups({
      write: insertDispatchAndEvent,
      writeGroup: insertDispatchesAndEvents,
      charactersOf: ({ dispatch }) => dispatch.audit.length,
    }),
    finish: inGroups({
      write: finishDispatchAndStoreEvent,
      writeGroup: finishDispatchesAndStoreEvents,
      charactersOf: ({ outcome }) => outcome.length,
    }),
  };
}

/** Waits until the promise is settled, at most for this time. */
async function waitFor(promise: Promise<unknown>, waitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, waitMs);
  });
  await Promise.race([promise.catch(() => undefined), timeUp]);
  clearTimeout(timer);
}
