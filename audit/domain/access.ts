import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';

/** Roles belong to the user itself: an admin's agent has none of them. */
export function readsWholeOrg(caller: Principal): boolean {
  return caller.role === 'admin' || caller.role === 'auditor';
}

/** Whose records the caller may read; `ofUserId` is null for everybody's of the org. Refuses agents. */
export function readerOf(caller: Principal): { orgId: string; ofUserId: string | null } {
  const { orgId, identityId } = caller;
  if (readsWholeOrg(caller)) return { orgId, ofUserId: null };
  if (caller.kind === 'user') return { orgId, ofUserId: identityId };
  throw new AppError('forbidden', 'Only users read the audit log; ask yours.');
}
