import { blankAuditEntry } from '#contracts/audit';
import type { AuditEntry } from '#contracts/audit';
import type { IdentityReference, Principal } from '#contracts/vocabulary';

interface AuditSubject {
  /**
   * The service in the form that permission keys use; null when the change concerns only a
   * template.
   */
  readonly service: string | null;
  /** The key of the template. */
  readonly template: string;
}

/**
 * The audit entry of a change. A null `caller` means that the registry itself made the change, on a
 * timer.
 */
export function auditOf(
  caller: Principal | null,
  subject: AuditSubject,
  description: string,
): AuditEntry {
  if (caller === null) return { ...blankAuditEntry(description), ...subject };
  const { kind, id, clientId } = caller.credential;
  return {
    ...blankAuditEntry(description),
    user_id: caller.userId,
    identity: identityOf(caller),
    credential: { kind, id, client_id: clientId },
    ...subject,
  };
}

export function identityOf({ identityId, kind, chain }: Principal): IdentityReference {
  const path = chain.map(({ name }) => name);
  return { id: identityId, kind, name: path.at(-1) ?? '', path };
}
