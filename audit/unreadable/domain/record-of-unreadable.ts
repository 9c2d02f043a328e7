import { createHash } from 'node:crypto';

import { blankAuditEntry } from '#contracts/audit';
import type { UnreadableEvent } from '#contracts/events';

/**
 * The entry in the org's chain for a record that this release cannot read or store. It contains
 * where the record came from and the digest of the stored bytes. Null when the record does not
 * contain its org.
 */
export function recordOfUnreadable({ id, orgId, subject, body }: UnreadableEvent, now: Date) {
  if (orgId === null) return null;
  const digest = createHash('sha256').update(body).digest('hex');
  const keptSentence = `It is kept as it came (${body.length} bytes, SHA-256 ${digest}) until a release can record it.`;
  return {
    ...blankAuditEntry(
      `A record that this release cannot read or store came as ${subject}. ${keptSentence}`,
    ),
    id,
    org_id: orgId,
    type: 'unreadable',
    at: now.toISOString(),
    unread: null,
  };
}
