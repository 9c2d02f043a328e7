import type { Deadline } from '#bus';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import type { Approval } from '../domain/approval.ts';
import { alreadyResolved } from '../domain/refusals.ts';
import { findApproval, findGap } from '../repository/approval.ts';

export interface Authority {
  readonly covers: boolean;
  readonly uncovered: readonly string[];
  /** When the rule ends by which it holds the keys; null for never. */
  readonly until: Date | null;
}

/** A user's, and that of whoever acts with it. */
export const unlimited: Authority = { covers: true, uncovered: [], until: null };

/**
 * How far the decider may allow these keys beside the approval's own: users without bound,
 * agents within their authority and for no longer than they hold it (decisions: Approvals).
 */
export async function authorityOf(
  deps: Deps,
  { approval, decider, keys }: { approval: Approval; decider: Principal; keys: readonly string[] },
  deadline: Deadline,
): Promise<Authority> {
  if (decider.kind === 'user') return unlimited;
  const { orgId, id: approvalId, card } = approval;
  const gap = await findGap(deps.db, { orgId, approvalId });
  // Erased: it was decided, or ended, while we looked.
  if (gap === undefined) {
    throw alreadyResolved((await findApproval(deps.db, { orgId, approvalId })) ?? approval);
  }
  const { covers, uncovered, untilMs } = await deps.policy.checkAuthority(
    {
      orgId,
      identityId: decider.identityId,
      gap,
      keys: [...new Set([...card.permissionKeys, ...keys])],
    },
    deadline,
  );
  return { covers, uncovered, until: untilMs === null ? null : new Date(untilMs) };
}

export function exceedsAuthority(details: AppError['details']): AppError {
  return new AppError(
    'exceeds_authority',
    'You may allow only what your own rules allow you, and for no longer; bubble it to your user instead.',
    { details },
  );
}
