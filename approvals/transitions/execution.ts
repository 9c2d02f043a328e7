import type { Database, Transaction } from '#database';
import { announceFinished, announceStarted } from '../domain/announce.ts';
import type { Actor } from '../domain/announce.ts';
import type { Approval, Trigger } from '../domain/approval.ts';
import { eraseFrozenCall, findApproval } from '../repository/approval.ts';
import type { ApprovalKey } from '../repository/approval.ts';
import {
  cancelPendingExecution,
  claimExecution,
  claimPendingExecutions,
  finishExecution,
} from '../repository/execution.ts';
import type { Claim, End } from '../repository/execution.ts';
import { announce } from './announce.ts';

// Every move of an execution, with the one event that reports it.

/** `pending` → `executing`, by a caller who waits; undefined when somebody else was first. */
export async function startExecution(
  db: Database,
  { trigger, actor, ...key }: ApprovalKey & { trigger: Trigger; actor: Actor },
): Promise<Claim | undefined> {
  return db.transaction(async (tx) => {
    const claim = await claimExecution(tx, { ...key, trigger });
    if (claim) await announceStart(tx, claim, actor);
    return claim;
  });
}

/** `pending` → `executing` of what is replayed by itself. */
export async function startPendingExecutions(db: Database, limit: number): Promise<Claim[]> {
  return db.transaction(async (tx) => {
    const claims = await claimPendingExecutions(tx, limit);
    for (const claim of claims) await announceStart(tx, claim, null);
    return claims;
  });
}

/** `executing` → `executed` or `failed`; the call is erased. Undefined when the claim is not ours any more. */
export async function endExecution(
  db: Database,
  claim: Claim,
  { end, actor }: { end: End; actor: Actor | null },
): Promise<Approval | undefined> {
  return db.transaction(async (tx) => {
    if (!(await finishExecution(tx, claim, end))) return undefined;
    return closeExecution(tx, claim, actor);
  });
}

/** `pending` → `cancelled`; the call is erased. Undefined when it had been started, or was over. */
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
  await announce(tx, announceFinished(approval, actor));
  return approval;
}

async function announceStart(tx: Transaction, claim: Claim, actor: Actor | null): Promise<void> {
  await announce(tx, announceStarted(await getApproval(tx, claim), actor));
}

async function getApproval(tx: Transaction, key: ApprovalKey): Promise<Approval> {
  const approval = await findApproval(tx, key);
  if (!approval) throw new Error('an execution has its approval');
  return approval;
}
