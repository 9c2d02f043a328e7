import type { Principal } from '#contracts/vocabulary';
import { seesWholeOrg } from '../../callers/domain/roles.ts';
import type { Identity } from './identity.ts';

/**
 * The functions in this file decide what a caller may do with an identity
 * (docs/reference/identities.md#roles).
 */

export function canSee(caller: Principal, target: Identity): boolean {
  if (target.orgId !== caller.orgId) return false;
  return seesWholeOrg(caller) || isInSubtree(caller, target);
}

export function canCreateAgent(caller: Principal): boolean {
  return isChangingUser(caller);
}

/**
 * An agent or subagent may create subagents below itself. A user may create them anywhere in the
 * user's own subtree.
 */
export function canCreateSubagentBelow(caller: Principal, parent: Identity): boolean {
  if (parent.orgId !== caller.orgId) return false;
  if (caller.kind === 'user') return isChangingUser(caller) && isInSubtree(caller, parent);
  return parent.id === caller.identityId;
}

/** Ancestors of an identity and admins of the org may revoke, archive and rename it. */
export function canManage(caller: Principal, target: Identity): boolean {
  return rankOver(caller, target) !== undefined;
}

/**
 * Returns the rank of a caller over an identity: the depth of the caller if the caller is an
 * ancestor, or -1 for any other admin. A lower number means a higher rank. Undefined when the
 * caller may not manage the identity.
 */
export function rankOver(caller: Principal, target: Identity): number | undefined {
  if (target.orgId !== caller.orgId || caller.role === 'auditor') return undefined;
  const depth = target.lineage.indexOf(caller.identityId);
  const isAncestor = depth >= 0 && depth < target.depth;
  if (isAncestor) return depth;
  return caller.role === 'admin' ? adminRank : undefined;
}

const adminRank = -1;

/**
 * A caller may restore an identity if its rank is at least that of the caller who archived the
 * identity. An admin may restore every identity.
 */
export function canRestore(caller: Principal, target: Identity): boolean {
  const rank = caller.role === 'admin' ? adminRank : rankOver(caller, target);
  return rank !== undefined && rank <= (target.archivedRank ?? adminRank);
}

/**
 * Only a user, or the agent that created this identity, may extend its permissions or its lifetime.
 */
export function canExtend(caller: Principal, target: Identity): boolean {
  if (caller.kind === 'user') return canManage(caller, target);
  return isInSubtree(caller, target) && target.createdBy === caller.identityId;
}

/** Only the user who owns an agent manages its OAuth clients and their self-approval. */
export function ownsAgent(caller: Principal, target: Identity): boolean {
  return caller.kind === 'user' && target.kind === 'agent' && isInSubtree(caller, target);
}

/** Users have no agent keys, because they sign in instead. */
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

/** Whether the caller is a user other than an auditor: auditors may change nothing. */
function isChangingUser(caller: Principal): boolean {
  return caller.kind === 'user' && caller.role !== 'auditor' && caller.role !== null;
}

function isInSubtree(caller: Principal, target: Identity): boolean {
  return target.lineage.includes(caller.identityId);
}
