import type { Gap } from '#contracts/permit';
import type { Sql } from '#database';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { subtreeOf } from '../domain/new-approval.ts';
import { findRaisedRefusal } from '../domain/raised.ts';
import type { RaisedLevel } from '../domain/raised.ts';
import { countOpenApprovals } from '../repository/approval.ts';
import { countRaisedApprovals } from '../repository/raised.ts';

/**
 * Throws when too many approvals of the requester or its agent's subtree are open, or when its share of
 * an hour is used up, the cancelled ones counted: each of them was shown to people already.
 */
export async function assertWithinLimits(
  { limits }: Pick<Deps, 'limits'>,
  sql: Sql,
  gap: Gap,
): Promise<void> {
  const subtreeId = subtreeOf(gap);
  const raiser = { orgId: gap.orgId, requesterId: gap.identityId, subtreeId };
  const { ofRequester, inSubtree } = await countOpenApprovals(sql, raiser);
  if (ofRequester >= limits.openPerRequester || inSubtree >= limits.openPerSubtree) {
    throw new AppError(
      'too_many_open_approvals',
      'Too many approvals are open already; wait for some to be decided, or cancel some.',
      {
        details: {
          retry_after: 60,
          open: ofRequester,
          open_max: limits.openPerRequester,
          open_in_subtree: inSubtree,
          open_in_subtree_max: limits.openPerSubtree,
        },
      },
    );
  }
  const { raisedPerHour } = limits;
  if (raisedPerHour === 0) return;
  const { counts, freeSeconds } = await countRaisedApprovals(
    sql,
    { ...raiser, userId: gap.userId },
    raisedPerHour,
  );
  const level = findRaisedRefusal(counts, raisedPerHour);
  if (level !== null) throw raisedTooMany(level, { raised: counts[level], freeSeconds });
}

const words: Readonly<Record<RaisedLevel, string>> = {
  requester: 'You have',
  subtree: 'Your agent and its subagents have',
  user: 'The agents of your user have',
  org: 'Your org has',
};

function raisedTooMany(
  level: RaisedLevel,
  { raised, freeSeconds }: { raised: number; freeSeconds: number },
): AppError {
  return new AppError(
    'rate_limited',
    `${words[level]} raised too many approvals within an hour, cancelled ones counted; wait, or ask for a rule that allows the call.`,
    { details: { retry_after: Math.max(1, freeSeconds), raised_in_hour: raised } },
  );
}
