import { hash } from 'node:crypto';

import { auditRecord } from '#contracts/audit';
import type { AuditRecord } from '#contracts/audit';
import { canonicalJson } from '#signing';

/** A record before it has its place in the chain. */
export type UnchainedRecord = Omit<AuditRecord, 'seq' | 'prev_hash' | 'hash'>;

/** The newest record of an org's chain, or where it begins. */
export interface Head {
  readonly seq: number;
  readonly hash: string;
}

/** In the order of canonical JSON. Sorted once: every call leaves a record. */
const hashedMembers = auditRecord.omit({ hash: true }).keyof().options.toSorted();

export const chainStart: Head = { seq: 0, hash: '0'.repeat(64) };

export function chainAfter(head: Head, records: readonly UnchainedRecord[]): AuditRecord[] {
  const chained: AuditRecord[] = [];
  let last = head;
  for (const record of records) {
    const unhashed = { ...record, seq: last.seq + 1, prev_hash: last.hash };
    const next = { ...unhashed, hash: hashOf(unhashed) };
    chained.push(next);
    last = next;
  }
  return chained;
}

/**
 * Goes on checking a chain after `head`: the first `seq` at which it does not fit, or the new head.
 * A missing record is named by the `seq` it should have had.
 */
export function checkChain(
  head: Head,
  records: readonly AuditRecord[],
): { firstBadSeq: number } | { head: Head } {
  let last = head;
  for (const record of records) {
    const fits =
      record.seq === last.seq + 1 &&
      record.prev_hash === last.hash &&
      record.hash === hashOf(record);
    if (!fits) return { firstBadSeq: Math.min(record.seq, last.seq + 1) };
    last = { seq: record.seq, hash: record.hash };
  }
  return { head: last };
}

/**
 * SHA-256 over the hash before it and the canonical JSON of the record without `hash`. Members
 * that are null do not count, so that a field added later leaves the older hashes as they are.
 */
function hashOf(record: Omit<AuditRecord, 'hash'>): string {
  let members = '';
  for (const name of hashedMembers) {
    const value = record[name];
    if (value === null) continue;
    members += `${members === '' ? '' : ','}"${name}":${canonicalJson(value)}`;
  }
  return hash('sha256', `${record.prev_hash}{${members}}`);
}
