import type { Deadline } from '#bus';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import type { Approval } from '../domain/approval.ts';
import { notInYourChain } from '../domain/relationship.ts';

/**
 * Refuses whoever may not decide this approval (spec: Authentication 10), by the chain as `auth`
 * has it now. False when the requester, or somebody above it, is not active any more: then there
 * is nothing left to decide.
 */
export async function mayDecide(
  deps: Deps,
  { approval, decider }: { approval: Approval; decider: Principal },
  deadline: Deadline,
): Promise<boolean> {
  if (decider.identityId === approval.requesterId) {
    throw new AppError(
      'self_approval_disabled',
      'You cannot decide your own approval; ask an ancestor or an org admin, or cancel it.',
    );
  }
  const requester = await findChain(deps, approval.orgId, approval.requesterId, deadline);
  const above = requester?.chain.slice(0, -1).map((link) => link.id) ?? approval.chain.slice(0, -1);
  const isAncestor = above.includes(decider.identityId) && decider.role !== 'auditor';
  if (!isAncestor && !(await isActiveAdmin(deps, decider, deadline))) throw notInYourChain();
  return requester?.active ?? false;
}

/** Whether the requester and all above it are active. `auth` out of reach is an error, never a no. */
export async function isRequesterActive(
  deps: Pick<Deps, 'auth'>,
  { orgId, requesterId }: { orgId: string; requesterId: string },
  deadline: Deadline,
): Promise<boolean> {
  return (await findChain(deps, orgId, requesterId, deadline))?.active ?? false;
}

/** A role belongs to the user itself: an admin's agent has none (decisions: Rules). */
async function isActiveAdmin(
  deps: Deps,
  { orgId, identityId, role }: Principal,
  deadline: Deadline,
): Promise<boolean> {
  if (role !== 'admin') return false;
  const admin = await findChain(deps, orgId, identityId, deadline);
  return admin?.active === true && admin.role === 'admin';
}

async function findChain(
  { auth }: Pick<Deps, 'auth'>,
  orgId: string,
  identityId: string,
  deadline: Deadline,
) {
  try {
    return await auth.getChain({ orgId, identityId }, deadline);
  } catch (thrown) {
    const error = AppError.from(thrown);
    if (error.code === 'not_found') return undefined;
    throw error;
  }
}
