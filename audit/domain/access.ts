import type { Principal } from '#contracts/vocabulary';

/** Roles belong to the user itself: an admin's agent has none of them. */
export function readsWholeOrg(caller: Principal): boolean {
  return caller.role === 'admin' || caller.role === 'auditor';
}

/** The user whose records the caller may read: null for everybody's, undefined for none. */
export function readableUserOf(caller: Principal): string | null | undefined {
  if (readsWholeOrg(caller)) return null;
  return caller.kind === 'user' ? caller.identityId : undefined;
}
