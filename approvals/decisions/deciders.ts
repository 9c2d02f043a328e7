import type { Deadline } from '#bus';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Approval } from '../approval/domain/approval.ts';
import { notInYourChainError } from '../approval/domain/relationship.ts';
import type { Deps } from '../deps.ts';

/**
 * The state of a requester and its ancestors. When they have different states, it is the worst one.
 */
export type Standing = Awaited<ReturnType<Deps['auth']['getChain']>>['standing'];

/**
 * Whether the state is final: an archived requester may be restored, an expired or revoked one may
 * not.
 */
export function hasEnded(standing: Standing): standing is 'expired' | 'revoked' {
  return standing === 'expired' || standing === 'revoked';
}

/**
 * Throws unless the caller may decide this approval, given the requester's current chain in `auth`.
 * Returns the state of the requester (docs/reference/approvals.md#who-may-decide).
 */
export async function assertMayDecide(
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
  const ancestorIds =
    requester?.chain.slice(0, -1).map((link) => link.id) ?? approval.chain.slice(0, -1);
  const isAncestor = ancestorIds.includes(decider.identityId) && decider.role !== 'auditor';
  if (!isAncestor && !(await isActiveAdmin(deps, decider, deadline))) throw notInYourChainError();
  return requester?.standing ?? 'revoked';
}

/**
 * Throws unless the requester may decide its own approval: it must act through an OAuth client for
 * which its user has switched self-approval on. Every decision asks `auth`, so switching
 * self-approval off takes effect at once.
 */
export async function assertMayDecideForItself(
  deps: Deps,
  {
    approval,
    decider,
    principal,
  }: {
    approval: Approval;
    decider: Principal;
    /** The decider's signed principal. */ principal: string;
  },
  deadline: Deadline,
): Promise<Standing> {
  if (decider.identityId !== approval.requesterId) throw notInYourChainError();
  const { enabled } = await deps.auth.getSelfApproval({ principal }, deadline);
  if (!enabled) {
    throw new AppError(
      'self_approval_disabled',
      'This client may not decide its own approvals; its user can switch that on for the connection.',
    );
  }
  return getRequesterStanding(deps, approval, deadline);
}

/** The requester's current state. Throws when `auth` cannot be reached. */
export async function getRequesterStanding(
  deps: Pick<Deps, 'auth'>,
  { orgId, requesterId }: { orgId: string; requesterId: string },
  deadline: Deadline,
): Promise<Standing> {
  return (await findChain(deps, orgId, requesterId, deadline))?.standing ?? 'revoked';
}

/**
 * Whether the caller is an active admin. Roles belong to users; the agents of an admin have none
 * (docs/reference/identities.md#roles).
 */
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
