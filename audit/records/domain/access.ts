import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';

/**
 * An agent does not inherit the role of its user, so an admin's agent does not read the whole org.
 */
export function readsWholeOrg(caller: Principal): boolean {
  return caller.role === 'admin' || caller.role === 'auditor';
}

/**
 * The records that the caller may read: the whole org's if `ofUserId` is null, otherwise those of
 * one user. Refuses agents.
 */
export function readableRecordsOf(caller: Principal): { orgId: string; ofUserId: string | null } {
  const { orgId, identityId } = caller;
  if (readsWholeOrg(caller)) return { orgId, ofUserId: null };
  if (caller.kind === 'user') return { orgId, ofUserId: identityId };
  throw new AppError('forbidden', 'Only users read the audit log; ask yours.');
}
