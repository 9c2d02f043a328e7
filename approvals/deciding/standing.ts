import type { Deadline } from '#bus';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import type { Approval } from '../domain/approval.ts';
import { notInYourChain } from '../domain/relationship.ts';

/** How a requester and all above it stand: the worst of them. */
export type Standing = Awaited<ReturnType<Deps['auth']['getChain']>>['standing'];

/** Its time is over: there is nothing left to decide. What is archived may come back. */
export function hasEnded(standing: Standing): standing is 'expired' | 'revoked' {
  return standing === 'expired' || standing === 'revoked';
}

/**
 * Throws unless the caller may decide this approval, by the chain as `auth` has it now. Returns the
 * standing of the requester (docs/reference/approvals.md#who-may-decide).
 */
export async function mayDecide(
  deps: Deps,
  { approval, decider }: { approval: Approval; decider: Principal },
  deadline: Deadline,
): Promise<Standing> {
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
  return requester?.standing ?? 'revoked';
}

/**
 * The one way in which a requester decides for itself: by an OAuth client whose user has switched
 * that on, asked of `auth` every time. Nobody else may use it, ancestors included.
 */
export async function mayDecideForItself(
  deps: Deps,
  {
    approval,
    decider,
    principal,
  }: { approval: Approval; decider: Principal; /** The decider's, as signed. */ principal: string },
  deadline: Deadline,
): Promise<Standing> {
  if (decider.identityId !== approval.requesterId) throw notInYourChain();
  const { enabled } = await deps.auth.getSelfApproval({ principal }, deadline);
  if (!enabled) {
    throw new AppError(
      'self_approval_disabled',
      'This client may not decide its own approvals; its user can switch that on for the connection.',
    );
  }
  return getRequesterStanding(deps, approval, deadline);
}

/** How the requester stands now. `auth` out of reach is an error, never an answer. */
export async function getRequesterStanding(
  deps: Pick<Deps, 'auth'>,
  { orgId, requesterId }: { orgId: string; requesterId: string },
  deadline: Deadline,
): Promise<Standing> {
  return (await findChain(deps, orgId, requesterId, deadline))?.standing ?? 'revoked';
}

/** A role belongs to a user; an admin's agent has none (docs/reference/identities.md#roles). */
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
