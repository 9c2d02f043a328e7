import { setTimeout as delay } from 'node:timers/promises';

import type { Deadline } from '#bus';
import type { CallContext, Principal } from '#contracts/vocabulary';
import { findApproval } from '../approval/approval.sql.ts';
import { actorOf } from '../approval/domain/announcements.ts';
import type { Approval } from '../approval/domain/approval.ts';
import { callStateOf } from '../approval/domain/call-state.ts';
import type { CallState } from '../approval/domain/call-state.ts';
import { executionInProgressError, approvalNotFoundError } from '../approval/domain/refusals.ts';
import { notInYourChainError, relationshipTo } from '../approval/domain/relationship.ts';
import { traceApproval } from '../approval/trace-approval.ts';
import type { DepsWithReplays } from '../deps.ts';
import type { Outcome } from './domain/outcome.ts';

interface ResumeRequest {
  readonly principal: string;
  readonly id: string;
  readonly context: CallContext;
}

/**
 * How long to wait for a replay that another process runs. It usually ends soon, and waiting saves
 * the caller another request.
 */
const replayWaitMs = 20_000;
/**
 * The first pause between two looks at the execution. Each pause is twice as long as the one
 * before, up to a maximum.
 */
const firstPollMs = 10;
const lastPollMs = 200;
/** The time that is reserved for sending the answer before the caller's deadline. */
const answerMarginMs = 500;

/**
 * Answers a call that has only `approval_id`. The requester gets the pending answer, the denial or
 * the stored result; if its call was allowed and has not run, the call runs now. Ancestors get the
 * same answers, but their request runs nothing (docs/reference/approvals.md#resuming).
 */
export async function resumeApproval(
  deps: DepsWithReplays,
  { principal: signed, id, context }: ResumeRequest,
  deadline: Deadline,
): Promise<CallState> {
  const caller = deps.readPrincipal(signed);
  const approval = await findApproval(deps.db, { orgId: caller.orgId, approvalId: id });
  if (!approval) throw approvalNotFoundError();
  const relationship = relationshipTo(approval, caller);
  if (relationship === 'not_in_your_chain') throw notInYourChainError();
  traceApproval(approval);
  if (relationship === 'self' && approval.status === 'allowed') {
    return runAllowedCall(deps, { approval, caller, context }, deadline);
  }
  return callStateOf(approval, { baseUrl: deps.baseUrl, relationship });
}

async function runAllowedCall(
  deps: DepsWithReplays,
  { approval, caller, context }: { approval: Approval; caller: Principal; context: CallContext },
  deadline: Deadline,
): Promise<CallState> {
  const key = { orgId: approval.orgId, approvalId: approval.id };
  if (approval.execution?.status === 'pending') {
    const actor = actorOf(caller, context);
    const running = deps.replays.run({ ...key, trigger: 'agent', actor });
    const outcome = await Promise.race([running, waitForDeadline(deadline)]);
    if (outcome === 'time_up') throw executionInProgressError(approval.id);
    if (outcome?.kind === 'called') return calledStateOf(outcome, approval);
    if (outcome?.kind === 'again') throw executionInProgressError(approval.id);
  }
  const replaying = deps.replays.findRunning(key);
  if (replaying !== undefined) {
    const outcome = await Promise.race([replaying, waitForDeadline(deadline)]);
    if (outcome !== 'time_up' && outcome.kind === 'called') return calledStateOf(outcome, approval);
  }
  const settledApproval = await waitUntilSettled(deps, key, deadline);
  if (settledApproval.execution?.status === 'executing')
    throw executionInProgressError(approval.id);
  return callStateOf(settledApproval, { baseUrl: deps.baseUrl, relationship: 'self' });
}

/** A replay in this process gives the whole result. The stored result may lack its bodies. */
function calledStateOf(
  { result, auditId }: Extract<Outcome, { kind: 'called' }>,
  { card }: Approval,
): CallState {
  return { kind: 'called', result, auditId, description: card.description };
}

/**
 * Waits until the execution is no longer running or the time limit ends, and returns the approval.
 */
async function waitUntilSettled(
  { db }: DepsWithReplays,
  key: { orgId: string; approvalId: string },
  deadline: Deadline,
): Promise<Approval> {
  const waitEndsAtMs = Math.min(replayWaitMs, deadline.remainingMs() - answerMarginMs);
  let pauseMs = firstPollMs;
  for (let waitedMs = 0; ; waitedMs += pauseMs) {
    const approval = await findApproval(db, key);
    if (!approval) throw approvalNotFoundError();
    if (approval.execution?.status !== 'executing' || waitedMs >= waitEndsAtMs) return approval;
    pauseMs = Math.min(lastPollMs, pauseMs * 2);
    await delay(pauseMs);
  }
}

/**
 * Resolves at the caller's deadline. The replay continues, and the next `resume` finds its result.
 */
async function waitForDeadline(deadline: Deadline): Promise<'time_up'> {
  await delay(Math.max(0, deadline.remainingMs() - answerMarginMs), undefined, { ref: false });
  return 'time_up';
}
