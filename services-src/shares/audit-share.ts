import type { AuditEntry } from '#contracts/audit';
import { AppError } from '#errors';
import type { Component } from '../contracts/vocabulary.ts';
import { callerPathOf } from './callers.ts';
import type { CallerIds, CallerLevel } from './callers.ts';
import { MinuteShares } from './minute-shares.ts';
import type { Level } from './room.ts';

/**
 * Limits how many bytes the calls of each org, user and identity write into the audit log per
 * minute.
 */
export interface AuditShare {
  /**
   * Throws `rate_limited` when the caller's share of the minute is used up, and `unavailable` when
   * the capacity of all callers together is used up.
   */
  assertRoom(caller: CallerIds): void;
  /**
   * Counts the audit rows of a call that is about to be sent. Throws as `assertRoom` does, because
   * other calls of the caller may have used up its share while this call was prepared.
   */
  take(caller: CallerIds, entry: AuditEntry, rows: number): void;
  /** Counts an audit row that is written in any case, without checking the share. */
  count(caller: CallerIds, entry: AuditEntry): void;
}

interface AuditShareLimits {
  /** The limit of one replica; 0 means no limit. */
  readonly bytesPerMinute: number;
  readonly levels: readonly Level<CallerLevel>[];
  readonly component: Component;
  readonly now?: () => number;
}

const retrySeconds = 30;

/**
 * Creates the limit of the bytes of audit rows. It exists because rows are never deleted, and
 * because each call waits until its row is stored.
 */
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
  const useShare = (caller: CallerIds, entry: AuditEntry, rows: number) =>
    shares.use(callerPathOf(caller), rows * Buffer.byteLength(JSON.stringify(entry)));
  const share: AuditShare = {
    assertRoom(caller) {
      const refusal = shares.refusalOf(callerPathOf(caller));
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
      useShare(caller, entry, rows);
    },
    count: (caller, entry) => useShare(caller, entry, 1),
  };
  return share;
}
