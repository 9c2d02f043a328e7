import { blankAuditEntry } from '#contracts/audit';
import type { AuditEntry } from '#contracts/audit';
import type { Event, EventType } from '#contracts/events';
import type { Principal } from '#contracts/vocabulary';

interface WebhookEvent {
  readonly type: EventType;
  readonly orgId: string;
  readonly audience: string[];
  readonly data: Event['data'];
  readonly audit: AuditEntry;
}

/** The event for a change of a webhook by `caller`. `text` is the sentence in the audit log. */
export function createWebhookEvent(
  type: 'webhook.created' | 'webhook.changed' | 'webhook.deleted',
  { caller, id, text }: { caller: Principal; id: string; text: string },
): WebhookEvent {
  return {
    type,
    orgId: caller.orgId,
    audience: caller.chain.map((link) => link.id),
    data: { webhook_id: id },
    audit: auditEntryOf(caller, text),
  };
}

function auditEntryOf(caller: Principal, text: string): AuditEntry {
  const path = caller.chain.map(({ name }) => name);
  const { kind, id, clientId } = caller.credential;
  return {
    ...blankAuditEntry(text),
    user_id: caller.userId,
    identity: { id: caller.identityId, kind: caller.kind, name: path.at(-1) ?? '', path },
    credential: { kind, id, client_id: clientId },
  };
}
