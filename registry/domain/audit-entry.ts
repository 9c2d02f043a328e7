import { blankAuditEntry } from '#contracts/audit';
import type { AuditEntry } from '#contracts/audit';
import type { Principal } from '#contracts/vocabulary';

interface Subject {
  /** As it stands in permission keys; null for what is no service. */
  readonly service: string | null;
  /** Its key. */
  readonly template: string;
}

/** What the audit log says about a change made by `caller`. */
/** Without a caller it was the clock's. */
export function auditOf(
  caller: Principal | null,
  subject: Subject,
  description: string,
): AuditEntry {
  if (caller === null) return { ...blankAuditEntry(description), ...subject };
  const path = caller.chain.map((link) => link.name);
  const { kind, id, clientId } = caller.credential;
  return {
    ...blankAuditEntry(description),
    user_id: caller.userId,
    identity: { id: caller.identityId, kind: caller.kind, name: path.at(-1) ?? '', path },
    credential: { kind, id, client_id: clientId },
    ...subject,
  };
}
