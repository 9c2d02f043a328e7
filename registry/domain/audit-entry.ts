import { blankAuditEntry } from '#contracts/audit';
import type { AuditEntry } from '#contracts/audit';
import type { Principal } from '#contracts/vocabulary';
import { nameInKeys } from './service.ts';
import type { Service } from './service.ts';

/** What the audit log says about a change of a service made by `caller`. */
export function auditOf(caller: Principal, service: Service, description: string): AuditEntry {
  const path = caller.chain.map((link) => link.name);
  const { kind, id, clientId } = caller.credential;
  return {
    ...blankAuditEntry(description),
    user_id: caller.userId,
    identity: { id: caller.identityId, kind: caller.kind, name: path.at(-1) ?? '', path },
    credential: { kind, id, client_id: clientId },
    service: nameInKeys(service),
    template: service.template.key,
  };
}
