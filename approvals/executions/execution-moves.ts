import type { Database, Transaction } from '#database';
import { storeAnnouncement } from '../approval/announce.ts';
import { eraseFrozenCall, findApproval } from '../approval/approval.sql.ts';
import type { ApprovalKey } from '../approval/approval.sql.ts';
import { finishedAnnouncementOf, startedAnnouncementOf } from '../approval/domain/announcements.ts';
import type { Actor } from '../approval/domain/announcements.ts';
import type { Approval, ReplayTrigger } from '../approval/domain/approval.ts';
import {
  cancelPendingExecution,
  claimExecution,
  claimPendingExecutions,
  finishExecution,
} from './execution.sql.ts';
import type { Claim, ExecutionEnd } from './execution.sql.ts';

// Each function of this file changes an execution and stores the event that reports the change, in
// one transaction.

/**
 * `pending` → `executing`, for a caller that waits; undefined when another process has started the
 * execution.
 */
export async function startExecution(
  db: Database,
  { trigger, actor, ...key }: ApprovalKey & { trigger: ReplayTrigger; actor: Actor },
): Promise<Claim | undefined> {
  return db.transaction(async (tx) => {
    const claim = await claimExecution(tx, { ...key, trigger });
    if (claim) await announceStart(tx, claim, actor);
    return claim;
  });
}

/** `pending` → `executing` for automatic replays. */
export async function startPendingExecutions(db: Database, limit: number): Promise<Claim[]> {
  return db.transaction(async (tx) => {
    const claims = await claimPendingExecutions(tx, limit);
    for (const claim of claims) await announceStart(tx, claim, null);
    return claims;
  });
}

/**
 * `executing` → `executed` or `failed`; erases the call. Undefined when another process has claimed
 * the execution in the meantime.
 */
export async function endExecution(
  db: Database,
  claim: Claim,
  { end, actor }: { end: ExecutionEnd; actor: Actor | null },
): Promise<Approval | undefined> {
  return db.transaction(async (tx) => {
    if (!(await finishExecution(tx, claim, end))) return undefined;
    return closeExecution(tx, claim, actor);
  });
}

/**
 * `pending` → `cancelled`; erases the call. Undefined when the execution was already started or has
 * ended.
 */
export async function cancelExecution(
  db: Database,
  key: ApprovalKey,
  actor: Actor,
): Promise<Approval | undefined> {
  return db.transaction(async (tx) => {
    if (!(await cancelPendingExecution(tx, key))) return undefined;
    return closeExecution(tx, key, actor);
  });
}

async function closeExecution(
  tx: Transaction,
  key: ApprovalKey,
  actor: Actor | null,
): Promise<Approval> {
  await eraseFrozenCall(tx, key);
  const approval = await getApproval(tx, key);
  await storeAnnouncement(tx, finishedAnnouncementOf(approval, actor));
  return approval;
}

async function announceStart(tx: Transaction, claim: Claim, actor: Actor | null): Promise<void> {
  await storeAnnouncement(tx, startedAnnouncementOf(await getApproval(tx, claim), actor));
}

async function getApproval(tx: Transaction, key: ApprovalKey): Promise<Approval> {
  const approval = await findApproval(tx, key);
  if (!approval) throw new Error('an execution has its approval');
  return approval;
}
