import { setTimeout as delay } from 'node:timers/promises';

import type { Deadline } from '#bus';
import type { CallContext, Principal } from '#contracts/vocabulary';
import type { DepsWithReplays } from '../deps.ts';
import { actorOf } from '../domain/announce.ts';
import type { Approval } from '../domain/approval.ts';
import { callStateOf } from '../domain/call-state.ts';
import type { CallState } from '../domain/call-state.ts';
import { inProgress, notFound } from '../domain/refusals.ts';
import { notInYourChain, relationshipTo } from '../domain/relationship.ts';
import { findApproval } from '../repository/approval.ts';

interface ResumeRequest {
  readonly principal: string;
  readonly id: string;
  readonly context: CallContext;
}

/** A replay in other hands is usually done in a moment; waiting for it spares the caller a round. */
const patienceMs = 20_000;
const lookEveryMs = 200;
/** Time to answer in, before the caller's own deadline. */
const marginMs = 500;

/**
 * Answers a call with `approval_id` alone: the requester gets the envelope again, the denial or the
 * stored result, or runs an allowed call that has not run. Its ancestors see the same, but run
 * nothing this way (docs/reference/approvals.md#resuming).
 */
export async function resumeApproval(
  deps: DepsWithReplays,
  { principal: signed, id, context }: ResumeRequest,
  deadline: Deadline,
): Promise<CallState> {
  const caller = deps.readPrincipal(signed);
  const approval = await findApproval(deps.db, { orgId: caller.orgId, approvalId: id });
  if (!approval) throw notFound();
  const relationship = relationshipTo(approval, caller);
  if (relationship === 'not_in_your_chain') throw notInYourChain();
  if (relationship === 'self' && approval.status === 'allowed') {
    return runAllowed(deps, { approval, caller, context }, deadline);
  }
  return callStateOf(approval, { baseUrl: deps.baseUrl, relationship });
}

async function runAllowed(
  deps: DepsWithReplays,
  { approval, caller, context }: { approval: Approval; caller: Principal; context: CallContext },
  deadline: Deadline,
): Promise<CallState> {
  const key = { orgId: approval.orgId, approvalId: approval.id };
  if (approval.execution?.status === 'pending') {
    const actor = actorOf(caller, context);
    const running = deps.replays.run({ ...key, trigger: 'agent', actor });
    const outcome = await Promise.race([running, timeUp(deadline)]);
    if (outcome === 'time_up') throw inProgress(approval.id);
    // The whole answer: what is stored may have been cut.
    if (outcome?.kind === 'called') {
      const { result, auditId } = outcome;
      return { kind: 'called', result, auditId, description: approval.card.description };
    }
    if (outcome?.kind === 'again') throw inProgress(approval.id);
  }
  const settled = await untilSettled(deps, key, deadline);
  if (settled.execution?.status === 'executing') throw inProgress(approval.id);
  return callStateOf(settled, { baseUrl: deps.baseUrl, relationship: 'self' });
}

/** The approval once its execution is not under way any more, or when patience ends. */
async function untilSettled(
  { db }: DepsWithReplays,
  key: { orgId: string; approvalId: string },
  deadline: Deadline,
): Promise<Approval> {
  const until = Math.min(patienceMs, deadline.remainingMs() - marginMs);
  for (let waitedMs = 0; ; waitedMs += lookEveryMs) {
    const approval = await findApproval(db, key);
    if (!approval) throw notFound();
    if (approval.execution?.status !== 'executing' || waitedMs >= until) return approval;
    await delay(lookEveryMs);
  }
}

/** The replay goes on when its caller's time is up; the next resume finds its end. */
async function timeUp(deadline: Deadline): Promise<'time_up'> {
  await delay(Math.max(0, deadline.remainingMs() - marginMs), undefined, { ref: false });
  return 'time_up';
}
