import { setTimeout as delay } from 'node:timers/promises';

import type { Deadline } from '#bus';
import { isOpenApproval } from '#contracts/approval-status';
import type { StoredApproval } from '#contracts/card';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { findApproval } from '../approval/approval.sql.ts';
import { actorOf } from '../approval/domain/announcements.ts';
import type { Approval } from '../approval/domain/approval.ts';
import { presentApproval } from '../approval/domain/present.ts';
import {
  expiredError,
  executionInProgressError,
  approvalNotFoundError,
  restoreStoredError,
} from '../approval/domain/refusals.ts';
import { notInYourChainError, relationshipTo } from '../approval/domain/relationship.ts';
import type { DepsWithReplays } from '../deps.ts';

const answerMarginMs = 500;

/**
 * Runs an allowed call that has not run, for the requester or an identity above it, and returns how
 * the execution ended. If the execution has ended already, the answer is the same.
 */
export async function runApproval(
  deps: DepsWithReplays,
  { principal: signed, id, context }: { principal: string; id: string; context: CallContext },
  deadline: Deadline,
): Promise<StoredApproval> {
  const caller = deps.readPrincipal(signed);
  const key = { orgId: caller.orgId, approvalId: id };
  const approval = await findApproval(deps.db, key);
  if (!approval) throw approvalNotFoundError();
  const relationship = relationshipTo(approval, caller);
  if (relationship === 'not_in_your_chain' || caller.role === 'auditor')
    throw notInYourChainError();
  assertAllowed(approval);

  if (approval.execution?.status === 'pending') {
    const trigger = caller.kind === 'user' ? 'user' : 'agent';
    const running = deps.replays.run({ ...key, trigger, actor: actorOf(caller, context) });
    await Promise.race([
      running,
      delay(Math.max(0, deadline.remainingMs() - answerMarginMs), undefined, { ref: false }),
    ]);
  }
  const endedApproval = (await findApproval(deps.db, key)) ?? approval;
  assertAllowed(endedApproval);
  if (endedApproval.execution?.finishedAt === null) throw executionInProgressError(id);
  const { error } = endedApproval.execution ?? {};
  if (error?.error === 'approval_stale') throw restoreStoredError(error);
  return presentApproval(endedApproval, relationship);
}

function assertAllowed(approval: Approval): void {
  if (approval.status === 'expired' || approval.execution?.status === 'expired')
    throw expiredError(approval);
  if (approval.status === 'allowed' && approval.execution?.status !== 'cancelled') return;
  const sentence = isOpenApproval(approval)
    ? 'This approval is not decided yet; allow it first.'
    : `This approval is ${approval.execution?.status ?? approval.status}, so its call cannot be run.`;
  throw new AppError('conflict', sentence, { details: { status: approval.status } });
}
