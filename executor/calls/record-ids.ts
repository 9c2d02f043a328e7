import { createHmac, createSecretKey } from 'node:crypto';

import type { RecordIds } from '../deps.ts';

/**
 * Derives the id of a read's record from its audit id, so that the audit log keeps one record when
 * two executors run the read. The id depends on a key: otherwise a component that knows the audit
 * id before the read has ended could publish another record with this id first.
 */
export function createRecordIds(permitKey: string): RecordIds {
  const key = createSecretKey(permitKey, 'utf8');
  return {
    // The MACs of permits are made with the same key. They are made over digests, which are shorter,
    // so that no id of a record is a MAC of a permit.
    ofRead: (auditId) =>
      uuidOf(auditId, createHmac('sha256', key).update(`record_id\0${auditId}`).digest('hex')),
  };
}

/** A UUIDv7 with the time of `auditId`, whose random part is taken from the digest. */
function uuidOf(auditId: string, digest: string): string {
  const time = auditId.slice(0, 13);
  const variant = ((parseInt(digest.slice(3, 4), 16) & 0x3) | 0x8).toString(16);
  return `${time}-7${digest.slice(0, 3)}-${variant}${digest.slice(4, 7)}-${digest.slice(7, 19)}`;
}
