import type { Principal } from '#contracts/vocabulary';
import type { Identity } from './identity.ts';

/** Who may do what to which identity (docs/reference/identities.md#roles). */

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

/** Revoke, archive, rename: ancestors and admins of the org. */
export function canManage(caller: Principal, target: Identity): boolean {
  return rankOver(caller, target) !== undefined;
}

/**
 * How high a caller stands above what it manages: an ancestor's depth, or -1 for an admin who is
 * none. The lower the figure, the higher; undefined for whoever may not manage it at all.
 */
export function rankOver(caller: Principal, target: Identity): number | undefined {
  if (target.orgId !== caller.orgId || caller.role === 'auditor') return undefined;
  const depth = target.lineage.indexOf(caller.identityId);
  const isAncestor = depth >= 0 && depth < target.depth;
  if (isAncestor) return depth;
  return caller.role === 'admin' ? adminRank : undefined;
}

const adminRank = -1;

/** What the archiver's rank or above restores; an admin everything, its own subtree too. */
export function canRestore(caller: Principal, target: Identity): boolean {
  const rank = caller.role === 'admin' ? adminRank : rankOver(caller, target);
  return rank !== undefined && rank <= (target.archivedRank ?? adminRank);
}

/** What a child may do and for how long is up to users, and to the agent that made it. */
export function canWiden(caller: Principal, target: Identity): boolean {
  if (caller.kind === 'user') return canManage(caller, target);
  return isInSubtree(caller, target) && target.createdBy === caller.identityId;
}

/** Which clients act as an agent, and whether they decide for themselves, is its user's alone. */
export function ownsAgent(caller: Principal, target: Identity): boolean {
  return caller.kind === 'user' && target.kind === 'agent' && isInSubtree(caller, target);
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
