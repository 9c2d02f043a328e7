import type { AuditEntry } from '#contracts/audit';
import { AppError } from '#errors';
import type { Component } from '../contracts/vocabulary.ts';
import { callerPath } from './callers.ts';
import type { CallerIds, CallerLevel } from './callers.ts';
import { MinuteShares } from './minute-shares.ts';
import type { Level } from './room.ts';

/** What calls write into the audit log within a minute, shared out by who makes them. */
export interface AuditShare {
  /** Throws `rate_limited` once the caller's share of the minute is used up, `unavailable` once everybody's is. */
  assertRoom(caller: CallerIds): void;
  /**
   * Counts the rows of a call that is about to be sent, and throws as `assertRoom` does: others of
   * the same caller may have used up its share while this one was prepared.
   */
  take(caller: CallerIds, entry: AuditEntry, rows: number): void;
  /** Counts a row that is written, however large. */
  count(caller: CallerIds, entry: AuditEntry): void;
}

interface AuditShareLimits {
  /** Of one replica; 0 = no limit. */
  readonly bytesPerMinute: number;
  readonly levels: readonly Level<CallerLevel>[];
  readonly component: Component;
  readonly now?: () => number;
}

const retrySeconds = 30;

/** Rows are kept for ever, and each is stored before its call is answered: large ones are not free. */
export function createAuditShare({
  bytesPerMinute,
  levels,
  component,
  now,
}: AuditShareLimits): AuditShare {
  if (bytesPerMinute === 0) {
    return { assertRoom: () => undefined, take: () => undefined, count: () => undefined };
  }
  const shares = new MinuteShares({ capacity: bytesPerMinute, levels }, now);
  const use = (caller: CallerIds, entry: AuditEntry, rows: number) =>
    shares.use(callerPath(caller), rows * Buffer.byteLength(JSON.stringify(entry)));
  const share: AuditShare = {
    assertRoom(caller) {
      const refusal = shares.refusalOf(callerPath(caller));
      if (refusal === null) return;
      if (refusal === 'pool') {
        throw new AppError(
          'unavailable',
          'Too much is being recorded. Nothing was sent; try again shortly.',
          { details: { component, busy: true } },
        );
      }
      throw new AppError(
        'rate_limited',
        `The calls of this ${refusal} fill the audit log too fast. Nothing was sent; wait, or make smaller ones.`,
        { details: { busy: true, retry_after: retrySeconds } },
      );
    },
    take(caller, entry, rows) {
      share.assertRoom(caller);
      use(caller, entry, rows);
    },
    count: (caller, entry) => use(caller, entry, 1),
  };
  return share;
}
