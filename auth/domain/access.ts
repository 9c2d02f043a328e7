import type { Principal } from '#contracts/vocabulary';
import type { Identity } from './identity.ts';

/** Who may do what to which identity (decisions: Identities, roles, keys, sessions). */

/** Roles belong to the user itself: an admin's agent has none of them. */
export function seesWholeOrg(caller: Principal): boolean {
  return caller.role === 'admin' || caller.role === 'auditor';
}

export function canSee(caller: Principal, target: Identity): boolean {
  if (target.orgId !== caller.orgId) return false;
  return seesWholeOrg(caller) || isInSubtree(caller, target);
}

export function canCreateAgent(caller: Principal): boolean {
  return isChangingUser(caller);
}

/** Agents and subagents below themselves, users anywhere in their own subtree. */
export function canCreateSubagentBelow(caller: Principal, parent: Identity): boolean {
  if (parent.orgId !== caller.orgId) return false;
  if (caller.kind === 'user') return isChangingUser(caller) && isInSubtree(caller, parent);
  return parent.id === caller.identityId;
}

export function canRevoke(caller: Principal, target: Identity): boolean {
  if (target.orgId !== caller.orgId || caller.role === 'auditor') return false;
  if (caller.role === 'admin') return true;
  return target.id !== caller.identityId && isInSubtree(caller, target);
}

/** Users have no agent keys: they sign in. */
export function canChangeKeysOf(caller: Principal, target: Identity): boolean {
  if (target.orgId !== caller.orgId || target.kind === 'user') return false;
  if (caller.role === 'admin') return true;
  if (caller.kind === 'user') return isChangingUser(caller) && isInSubtree(caller, target);
  return target.createdBy === caller.identityId;
}

export function canListKeysOf(caller: Principal, target: Identity): boolean {
  if (target.orgId !== caller.orgId) return false;
  return caller.role === 'auditor' || target.kind === 'user' || canChangeKeysOf(caller, target);
}

/** An auditor reads everything and changes nothing. */
function isChangingUser(caller: Principal): boolean {
  return caller.kind === 'user' && caller.role !== 'auditor' && caller.role !== null;
}

function isInSubtree(caller: Principal, target: Identity): boolean {
  return target.lineage.includes(caller.identityId);
}
