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
 * agents within their authority and for no longer than they hold it themselves
 * (docs/reference/approvals.md#who-may-decide).
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
  if (decider.kind === 'user') return unlimited;
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
  return { covers, uncovered, until: untilMs === null ? null : new Date(untilMs) };
}

/** Policy's signed gap. Erased: the approval was decided, or has ended, while we looked. */
export async function getGap({ db }: Pick<Deps, 'db'>, approval: Approval): Promise<string> {
  const key = { orgId: approval.orgId, approvalId: approval.id };
  const gap = await findGap(db, key);
  if (gap !== undefined) return gap;
  throw alreadyResolved((await findApproval(db, key)) ?? approval);
}

export function exceedsAuthority(details: AppError['details']): AppError {
  return new AppError(
    'exceeds_authority',
    'You may allow only what your own rules allow you, and for no longer; bubble it to your user instead.',
    { details },
  );
}
