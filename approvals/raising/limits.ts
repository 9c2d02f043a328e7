import type { Gap } from '#contracts/permit';
import type { Sql } from '#database';
import { AppError } from '#errors';
import { countOpenApprovals } from '../approval/approval.sql.ts';
import type { Deps } from '../deps.ts';
import { subtreeIdOf } from './domain/new-approval.ts';
import { findRaisedRefusal } from './domain/raised.ts';
import type { RaisedLevel } from './domain/raised.ts';
import { countRaisedApprovals } from './raised.sql.ts';

/**
 * Throws when the requester or its agent's subtree has too many open approvals, or has used up its
 * hourly share. Cancelled approvals count towards the hourly share, because people may already have
 * seen them.
 */
export async function assertWithinLimits(
  { limits }: Pick<Deps, 'limits'>,
  sql: Sql,
  gap: Gap,
): Promise<void> {
  const subtreeId = subtreeIdOf(gap);
  const raiser = { orgId: gap.orgId, requesterId: gap.identityId, subtreeId };
  const { requesterCount: ofRequester, subtreeCount: inSubtree } = await countOpenApprovals(
    sql,
    raiser,
  );
  if (
    ofRequester >= limits.openApprovalsPerRequesterMax ||
    inSubtree >= limits.openApprovalsPerSubtreeMax
  ) {
    throw new AppError(
      'too_many_open_approvals',
      'Too many approvals are open already; wait for some to be decided, or cancel some.',
      {
        details: {
          retry_after: 60,
          open: ofRequester,
          open_max: limits.openApprovalsPerRequesterMax,
          open_in_subtree: inSubtree,
          open_in_subtree_max: limits.openApprovalsPerSubtreeMax,
        },
      },
    );
  }
  const { approvalsRaisedPerHourMax: raisedPerHour } = limits;
  if (raisedPerHour === 0) return;
  const { counts, freeSeconds } = await countRaisedApprovals(
    sql,
    { ...raiser, userId: gap.userId },
    raisedPerHour,
  );
  const level = findRaisedRefusal(counts, raisedPerHour);
  if (level !== null) throw raisedTooManyError(level, { raised: counts[level], freeSeconds });
}

const subjectByLevel: Readonly<Record<RaisedLevel, string>> = {
  requester: 'You have',
  subtree: 'Your agent and its subagents have',
  user: 'The agents of your user have',
  org: 'Your org has',
};

function raisedTooManyError(
  level: RaisedLevel,
  { raised, freeSeconds }: { raised: number; freeSeconds: number },
): AppError {
  return new AppError(
    'rate_limited',
    `${subjectByLevel[level]} raised too many approvals within an hour, cancelled ones counted; wait, or ask for a rule that allows the call.`,
    { details: { retry_after: Math.max(1, freeSeconds), raised_in_hour: raised } },
  );
}
