import type { Principal, Tier } from '#contracts/vocabulary';

/** The fields of a request that decide who may see and answer it. */
export interface RequestRightsFields {
  readonly tier: Tier;
  readonly userId: string;
  readonly audience: readonly string[];
}

const isPerson = ({ kind, role }: Principal): boolean => kind === 'user' && role !== null;

/**
 * Whether the caller may see the request. The identities that asked for it and their ancestors may,
 * and so may the org's admins and auditors, but not their agents.
 */
export function maySeeRequest(caller: Principal, { audience }: RequestRightsFields): boolean {
  if (audience.includes(caller.identityId)) return true;
  return isPerson(caller) && caller.role !== 'member';
}

/**
 * Whether the caller may answer: the requester's user, or an admin for tier `org`. Agents never
 * may, not even an admin's agents.
 */
export function mayAnswerRequest(
  caller: Principal,
  { tier, userId }: RequestRightsFields,
): boolean {
  if (!isPerson(caller) || caller.role === 'auditor') return false;
  return tier === 'org' ? caller.role === 'admin' : caller.identityId === userId;
}

/**
 * Whether the caller may take the request back. The requester, its ancestors and admins may, but
 * not identities that asked for the same later. `cancelRequest` describes what an agent takes back.
 */
export function mayCancelRequest(
  caller: Principal,
  { chainIds }: { readonly chainIds: readonly string[] },
): boolean {
  if (isPerson(caller) && caller.role === 'auditor') return false;
  if (isPerson(caller) && caller.role === 'admin') return true;
  return chainIds.includes(caller.identityId);
}
