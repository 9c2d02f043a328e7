import { hash } from 'node:crypto';

import { auditRecord } from '#contracts/audit';
import type { AuditRecord } from '#contracts/audit';
import { canonicalJson } from '#signing';

/** A record that has no `seq` and no hashes yet. */
export type UnchainedRecord = Omit<AuditRecord, 'seq' | 'prev_hash' | 'hash'>;

/** Identifies the newest record of an org's chain; for an empty chain it is `chainStart`. */
export interface ChainHead {
  readonly seq: number;
  readonly hash: string;
}

/**
 * The member names in the order of canonical JSON. They are sorted only once, at start, because
 * every call adds a record.
 */
const hashedMembers = auditRecord.omit({ hash: true }).keyof().options.toSorted();

export const chainStart: ChainHead = { seq: 0, hash: '0'.repeat(64) };

export function appendToChain(head: ChainHead, records: readonly UnchainedRecord[]): AuditRecord[] {
  const chainedRecords: AuditRecord[] = [];
  let lastHead = head;
  for (const record of records) {
    const unhashed = { ...record, seq: lastHead.seq + 1, prev_hash: lastHead.hash };
    const nextRecord = { ...unhashed, hash: hashOf(unhashed) };
    chainedRecords.push(nextRecord);
    lastHead = nextRecord;
  }
  return chainedRecords;
}

/**
 * Checks the records that follow `head`. Returns the new head, or the `seq` of the first record
 * that does not fit. For a missing record, that is the `seq` that it should have had.
 */
export function checkChain(
  head: ChainHead,
  records: readonly AuditRecord[],
): { firstBadSeq: number } | { head: ChainHead } {
  let lastHead = head;
  for (const record of records) {
    const isLinked =
      record.seq === lastHead.seq + 1 &&
      record.prev_hash === lastHead.hash &&
      record.hash === hashOf(record);
    if (!isLinked) return { firstBadSeq: Math.min(record.seq, lastHead.seq + 1) };
    lastHead = { seq: record.seq, hash: record.hash };
  }
  return { head: lastHead };
}

/**
 * SHA-256 over the previous hash and the canonical JSON of the record without `hash`. Null members
 * are left out, so adding a member later does not change the hashes of older records.
 */
function hashOf(record: Omit<AuditRecord, 'hash'>): string {
  let membersJson = '';
  for (const name of hashedMembers) {
    const value = record[name];
    if (value === null) continue;
    membersJson += `${membersJson === '' ? '' : ','}"${name}":${canonicalJson(value)}`;
  }
  return hash('sha256', `${record.prev_hash}{${membersJson}}`);
}
