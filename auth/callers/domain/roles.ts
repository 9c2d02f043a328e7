import type { Principal } from '#contracts/vocabulary';

/** Only users have roles: an agent of an admin sees no more than other agents. */
export function seesWholeOrg(caller: Principal): boolean {
  return caller.role === 'admin' || caller.role === 'auditor';
}
