import type { Principal } from '#contracts/vocabulary';

/**
 * Whether the caller sees the whole org. Only users have roles, so an agent of an admin sees no
 * more than other agents.
 */
export function seesWholeOrg(caller: Principal): boolean {
  return caller.role === 'admin' || caller.role === 'auditor';
}
