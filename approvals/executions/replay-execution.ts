import { setTimeout as delay } from 'node:timers/promises';

import { deadlineIn, openOutstanding } from '#bus';
import type { Deadline } from '#bus';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { continueTrace, inSpan, linksTo } from '#telemetry';
import { findApproval, findFrozenCall } from '../approval/approval.sql.ts';
import type { FrozenCall } from '../approval/approval.sql.ts';
import type { Actor } from '../approval/domain/announcements.ts';
import type { Approval } from '../approval/domain/approval.ts';
import { approvalAttributesOf, approvalLinksOf } from '../approval/trace-approval.ts';
import type { Deps } from '../deps.ts';
import {
  backoffMsOf,
  endWithoutAnswer,
  outcomeOfDenial,
  outcomeOfExecutorError,
  outcomeOfPolicyError,
} from './domain/outcome.ts';
import type { Outcome } from './domain/outcome.ts';
import { capResult } from './domain/result.ts';
import { endExecution } from './execution-moves.ts';
import { markExecutorAsked, postponeExecution } from './execution.sql.ts';
import type { Claim } from './execution.sql.ts';

/**
 * The time beyond the call's own time limit, for policy, the bus and the executor's record keeping.
 */
const replayMarginMs = 10_000;
const replayMsMax = 120_000;
/**
 * When an executor dies during a call, its answer never arrives. Another request for the same
 * execution then finds out how the call ended: an executor that still runs the call answers
 * `execution_in_progress`, and the dispatch row keeps the call from being sent twice.
 */
const firstProbeAfterMs = 4_000;
const probeEveryMs = 2_000;
const outstandingAttemptsMax = 4;

interface ReplayRun {
  readonly deps: Deps;
  readonly claim: Claim;
  readonly approval: Approval;
  readonly frozen: FrozenCall & { readonly decision: string };
  readonly context: CallContext;
  readonly deadline: Deadline;
}

/**
 * Runs one claimed execution until it ends, or gives up the claim so that it is tried again later
 * (docs/reference/approvals.md#execution). Returns the outcome; the database row holds the state.
 */
export async function replayExecution(
  deps: Deps,
  claim: Claim,
  actor: Actor | null,
): Promise<Outcome> {
  const approval = await findApproval(deps.db, claim);
  if (!approval) throw new Error('an execution has its approval');
  const spanOptions = {
    attributes: { ...approvalAttributesOf(approval), 'aag.execution_id': claim.executionId },
    // Nobody waits for an automatic replay, so its spans belong to the trace of the decision.
    ...(actor === null
      ? {
          parent: continueTrace(approval.execution?.traceparent),
          links: linksTo(approval.card.traceparent),
        }
      : { links: approvalLinksOf(approval) }),
  };
  return inSpan('approvals replay', spanOptions, async () => {
    const outcome = decideEnd(
      await learnOutcome({ deps, claim, approval, actor }),
      claim,
      approval,
    );
    await recordOutcome({ deps, claim, actor }, outcome);
    return outcome;
  });
}

async function learnOutcome({
  deps,
  claim,
  approval,
  actor,
}: Pick<ReplayRun, 'deps' | 'claim' | 'approval'> & { actor: Actor | null }): Promise<Outcome> {
  if (claim.isOverdue) return { kind: 'refused', error: overdueError };
  const frozenCall = await findFrozenCall(deps.db, claim);
  // The call is erased, so another process has ended the execution since this process claimed it.
  if (!frozenCall) return { kind: 'fence_lost' };
  const { decision } = frozenCall;
  if (decision === null) return { kind: 'refused', error: unsignedDecisionError };

  const run: ReplayRun = {
    deps,
    claim,
    approval,
    frozen: { ...frozenCall, decision },
    context: actor?.context ?? approval.card.context,
    deadline: deadlineIn(Math.min(approval.timeoutMs + replayMarginMs, replayMsMax)),
  };
  return askUntilAnswered(run);
}

const overdueError = {
  error: 'unavailable',
  message: 'The call could not be run within 15 minutes of its approval; ask for it again.',
  details: {},
} as const;

const unsignedDecisionError = {
  error: 'approval_stale',
  message: 'The call was allowed under an earlier version; ask for it again.',
  details: {},
} as const;

/**
 * A refusal by policy ends the execution. The end is `outcome_unknown` if an earlier attempt may
 * have sent the call.
 */
function decideEnd(outcome: Outcome, claim: Claim, { nonRead }: Approval): Outcome {
  if (outcome.kind !== 'refused') return outcome;
  return endWithoutAnswer(outcome.error, { mayHaveLeft: claim.wasExecutorAsked, nonRead });
}

async function recordOutcome(
  { deps, claim, actor }: { deps: Deps; claim: Claim; actor: Actor | null },
  outcome: Outcome,
): Promise<void> {
  const { db, logger } = deps;
  const { approvalId, executionId, attempts } = claim;
  if (outcome.kind === 'again') {
    const delayMs = backoffMsOf(attempts, Math.random());
    const wasNotSent = !outcome.uncertain && !claim.wasExecutorAsked;
    await postponeExecution(db, claim, { delayMs, wasNotSent });
    logger.warn(
      { approvalId, executionId, attempts, delayMs, reason: outcome.error.error },
      'replay postponed',
    );
    return;
  }
  if (outcome.kind === 'called' || outcome.kind === 'failed') {
    const end =
      outcome.kind === 'called'
        ? {
            status: 'executed' as const,
            result: capResult(outcome.result),
            auditId: outcome.auditId,
          }
        : { status: 'failed' as const, error: outcome.error, auditId: outcome.auditId };
    if (await endExecution(db, claim, { end, actor })) {
      logger.info({ approvalId, executionId, status: end.status }, 'execution ended');
      return;
    }
  }
  logger.warn({ approvalId, executionId, reason: 'fence_lost' }, 'replay is in other hands');
}

/**
 * Asks policy for a permit and the executor to send the call. While no answer arrives, it asks
 * again in parallel, until one answer says how the call ended.
 */
async function askUntilAnswered(run: ReplayRun): Promise<Outcome> {
  const outstanding = openOutstanding<Outcome>();
  outstanding.add(askPolicyAndExecute(run));
  let unanswered: Outcome | undefined;
  let probeAfterMs = firstProbeAfterMs;

  for (;;) {
    using pause = startPause(probeAfterMs);
    const nextOutcome = await outstanding.takeNext(pause.ended);
    if ('other' in nextOutcome) {
      probeAfterMs = probeEveryMs;
      if (outstanding.size < outstandingAttemptsMax && run.deadline.remainingMs() > 0) {
        outstanding.add(askPolicyAndExecute(run));
      }
      continue;
    }
    const { answer } = nextOutcome;
    if (answer.kind === 'called' || answer.kind === 'failed' || answer.kind === 'fence_lost') {
      return answer;
    }
    unanswered = combineOutcomes(unanswered, answer);
    if (outstanding.size === 0) return unanswered;
  }
}

/** A pause that ends after this time, or when it is disposed. */
function startPause(ms: number) {
  const timer = new AbortController();
  return {
    ended: delay(ms, undefined, { signal: timer.signal }).catch(() => undefined),
    [Symbol.dispose]: () => timer.abort(),
  };
}

/**
 * Combines two attempts that left the outcome open. The combined outcome is uncertain if either
 * attempt is uncertain, because a refusal of the second attempt says nothing about the first.
 */
function combineOutcomes(previous: Outcome | undefined, latest: Outcome): Outcome {
  if (previous === undefined) return latest;
  const error = 'error' in latest ? latest.error : overdueError;
  const isUncertain = [previous, latest].some(
    (outcome) => outcome.kind !== 'again' || outcome.uncertain,
  );
  return { kind: 'again', error, uncertain: isUncertain };
}

function permitCascadeOf({ id }: Approval, { decidedGap }: FrozenCall) {
  return decidedGap === null ? null : { approvalId: id, decidedGap };
}

/**
 * Makes one attempt: policy checks the call again and signs a permit, and the executor sends the
 * approved call. Never throws.
 */
async function askPolicyAndExecute(run: ReplayRun): Promise<Outcome> {
  const { deps, claim, approval, frozen, context, deadline } = run;
  let permitReply: Awaited<ReturnType<typeof deps.policy.permitReplay>>;
  try {
    permitReply = await deps.policy.permitReplay(
      {
        gap: frozen.gap,
        decision: frozen.decision,
        executionId: claim.executionId,
        cascade: permitCascadeOf(approval, frozen),
      },
      deadline,
    );
    if (permitReply.outcome === 'denied') return outcomeOfDenial(permitReply.reason);
    if (!(await markExecutorAsked(deps.db, claim))) return { kind: 'fence_lost' };
  } catch (error) {
    return outcomeOfPolicyError(AppError.from(error));
  }
  try {
    const answer = await deps.executor.executeFrozen(
      {
        permit: permitReply.permit,
        sealedCall: frozen.sealedCall,
        context,
      },
      deadline,
    );
    if (answer.kind === 'called') return answer;
    const otherError = new AppError(
      'conflict',
      'The idempotency key of this call belongs to another approval; use a new key.',
      {
        details: { approval_id: answer.approvalId },
      },
    );
    return outcomeOfExecutorError(otherError, permitReply.auditId);
  } catch (error) {
    return outcomeOfExecutorError(AppError.from(error), permitReply.auditId);
  }
}
