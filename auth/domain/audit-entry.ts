import { blankAuditEntry } from '#contracts/audit';
import type { AuditEntry } from '#contracts/audit';
import type { CallContext, Principal } from '#contracts/vocabulary';

/** What the audit log says about a change made by `caller`. */
export function auditOf(caller: Principal, context: CallContext, description: string): AuditEntry {
  const path = caller.chain.map((link) => link.name);
  const { kind, id, clientId } = caller.credential;
  return {
    ...blankAuditEntry(description),
    user_id: caller.userId,
    identity: { id: caller.identityId, kind: caller.kind, name: path.at(-1) ?? '', path },
    credential: { kind, id, client_id: clientId },
    request_id: context.requestId,
    trace_id: context.traceId,
    ip: context.ip,
  };
}

/** How a caller is written in a sentence: `ann / deploy-bot`. */
export function nameOf(caller: Principal): string {
  return caller.chain.map((link) => link.name).join(' / ');
}
