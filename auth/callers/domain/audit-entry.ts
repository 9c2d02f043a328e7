import { blankAuditEntry } from '#contracts/audit';
import type { AuditEntry } from '#contracts/audit';
import type { CallContext, Principal } from '#contracts/vocabulary';

/** The audit entry of a change that `caller` made. */
export function auditEntryOf(
  caller: Principal,
  context: CallContext,
  description: string,
): AuditEntry {
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

/** The name of a caller in a sentence: `ann / deploy-bot`. */
export function callerNameOf(caller: Principal): string {
  return caller.chain.map((link) => link.name).join(' / ');
}
