import { hash } from 'node:crypto';

import { createMacs } from '#signing';
import type { RecordIds } from '../deps.ts';

/**
 * Derives the id of a read's record from its audit id, so that the audit log keeps one record when
 * two executors run the read. The id depends on a key: otherwise a component that knows the audit
 * id before the read has ended could publish another record with this id first.
 */
export function createRecordIds(permitKey: string): RecordIds {
  const macs = createMacs('record_id', permitKey);
  return {
    ofRead: (auditId) => uuidOf(auditId, hash('sha256', macs.toMac({ auditId }), 'hex')),
  };
}

/** A UUIDv7 with the time of `auditId`, whose random part is taken from the digest. */
function uuidOf(auditId: string, digest: string): string {
  const time = auditId.slice(0, 13);
  const variant = ((parseInt(digest.slice(3, 4), 16) & 0x3) | 0x8).toString(16);
  return `${time}-7${digest.slice(0, 3)}-${variant}${digest.slice(4, 7)}-${digest.slice(7, 19)}`;
}
