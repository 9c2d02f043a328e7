import type { Deadline } from '#bus';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { findApproval, findGap } from '../approval/approval.sql.ts';
import type { Approval } from '../approval/domain/approval.ts';
import { alreadyResolvedError } from '../approval/domain/refusals.ts';
import type { Deps } from '../deps.ts';

export interface Authority {
  readonly coversKeys: boolean;
  readonly uncoveredKeys: readonly string[];
  /** When this authority ends, because the rule behind it expires; null if it never ends. */
  readonly endsAt: Date | null;
}

/** Unlimited authority: that of a user, and of a requester that decides on its user's behalf. */
export const unlimitedAuthority: Authority = { coversKeys: true, uncoveredKeys: [], endsAt: null };

/**
 * Whether and until when the decider may allow the approval's permission keys and the given further
 * keys. Users have no limit. Agents are limited to what their own rules allow, and for as long as
 * these last (docs/reference/approvals.md#who-may-decide).
 */
export async function authorityOf(
  deps: Deps,
  {
    approval,
    gap,
    decider,
    keys,
  }: { approval: Approval; gap: string; decider: Principal; keys: readonly string[] },
  deadline: Deadline,
): Promise<Authority> {
  if (decider.kind === 'user') return unlimitedAuthority;
  const { orgId, card } = approval;
  const { covers, uncovered, untilMs } = await deps.policy.checkAuthority(
    {
      orgId,
      identityId: decider.identityId,
      gap,
      keys: [...new Set([...card.permissionKeys, ...keys])],
    },
    deadline,
  );
  return {
    coversKeys: covers,
    uncoveredKeys: uncovered,
    endsAt: untilMs === null ? null : new Date(untilMs),
  };
}

/**
 * The permission gap that policy signed. Throws when the gap is erased, because the approval has
 * then been decided or has ended.
 */
export async function getGap({ db }: Pick<Deps, 'db'>, approval: Approval): Promise<string> {
  const key = { orgId: approval.orgId, approvalId: approval.id };
  const gap = await findGap(db, key);
  if (gap !== undefined) return gap;
  throw alreadyResolvedError((await findApproval(db, key)) ?? approval);
}

export function exceedsAuthorityError(details: AppError['details']): AppError {
  return new AppError(
    'exceeds_authority',
    'You may allow only what your own rules allow you, and for no longer; bubble it to your user instead.',
    { details },
  );
}
