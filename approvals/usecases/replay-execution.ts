import { setTimeout as delay } from 'node:timers/promises';

import { deadlineIn } from '#bus';
import type { Deadline } from '#bus';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { inSpan } from '#telemetry';
import type { Deps } from '../deps.ts';
import type { Actor } from '../domain/announce.ts';
import type { Approval } from '../domain/approval.ts';
import {
  backoffMs,
  endWithoutAnswer,
  outcomeOfDenial,
  outcomeOfExecutorError,
  outcomeOfPolicyError,
} from '../domain/outcome.ts';
import type { Outcome } from '../domain/outcome.ts';
import { capResult } from '../domain/result.ts';
import { findApproval, findFrozenCall } from '../repository/approval.ts';
import type { FrozenCall } from '../repository/approval.ts';
import { markAsked, postponeExecution } from '../repository/execution.ts';
import type { Claim } from '../repository/execution.ts';
import { endExecution } from '../transitions/execution.ts';

/** Beyond the call's own time limit, for policy, the bus and the executor's record keeping. */
const marginMs = 10_000;
const replayMsMax = 120_000;
/**
 * When an executor dies with a call, its answer never comes. It is asked about again meanwhile: a
 * living executor says `execution_in_progress`, and its dispatch row keeps the call from being sent
 * twice.
 */
const firstProbeAfterMs = 4_000;
const probeEveryMs = 2_000;
const outstandingMax = 4;

interface Run {
  readonly deps: Deps;
  readonly claim: Claim;
  readonly approval: Approval;
  readonly frozen: FrozenCall & { readonly decision: string };
  readonly context: CallContext;
  readonly deadline: Deadline;
}

/**
 * Takes one claimed execution to its end, or gives it back for a later attempt
 * (docs/reference/approvals.md#execution). Returns the outcome; the row holds the state.
 */
export function replayExecution(deps: Deps, claim: Claim, actor: Actor | null): Promise<Outcome> {
  return inSpan('approvals replay', { 'aag.execution_id': claim.executionId }, async () => {
    const approval = await findApproval(deps.db, claim);
    if (!approval) throw new Error('an execution has its approval');
    const outcome = decideEnd(
      await learnOutcome({ deps, claim, approval, actor }),
      claim,
      approval,
    );
    await record({ deps, claim, actor }, outcome);
    return outcome;
  });
}

async function learnOutcome({
  deps,
  claim,
  approval,
  actor,
}: Pick<Run, 'deps' | 'claim' | 'approval'> & { actor: Actor | null }): Promise<Outcome> {
  if (claim.isOverdue) return { kind: 'refused', error: overdue };
  const frozen = await findFrozenCall(deps.db, claim);
  // Erased: somebody else has ended it since we claimed it.
  if (!frozen) return { kind: 'fence_lost' };
  const { decision } = frozen;
  if (decision === null) return { kind: 'refused', error: unsigned };

  const run: Run = {
    deps,
    claim,
    approval,
    frozen: { ...frozen, decision },
    context: actor?.context ?? approval.card.context,
    deadline: deadlineIn(Math.min(approval.timeoutMs + marginMs, replayMsMax)),
  };
  return askUntilAnswered(run);
}

const overdue = {
  error: 'unavailable',
  message: 'The call could not be run within 15 minutes of its approval; ask for it again.',
  details: {},
} as const;

const unsigned = {
  error: 'approval_stale',
  message: 'The call was allowed under an earlier version; ask for it again.',
  details: {},
} as const;

/** A refusal is the end; but if an earlier attempt may have sent the call, nobody can say how it went. */
function decideEnd(outcome: Outcome, claim: Claim, { nonRead }: Approval): Outcome {
  if (outcome.kind !== 'refused') return outcome;
  return endWithoutAnswer(outcome.error, { mayHaveLeft: claim.wasAsked, nonRead });
}

async function record(
  { deps, claim, actor }: { deps: Deps; claim: Claim; actor: Actor | null },
  outcome: Outcome,
): Promise<void> {
  const { db, logger } = deps;
  const { approvalId, executionId, attempts } = claim;
  if (outcome.kind === 'again') {
    const delayMs = backoffMs(attempts, Math.random());
    const wasNotSent = !outcome.uncertain && !claim.wasAsked;
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

/** Asks, and while no answer comes asks again beside it, until one says how the call ended. */
async function askUntilAnswered(run: Run): Promise<Outcome> {
  const outstanding = new Set<Promise<Outcome>>();
  const first = ask(run);
  const add = (asked: Promise<Outcome>) => {
    outstanding.add(asked);
    void asked.then(() => outstanding.delete(asked));
  };
  add(first);
  let unanswered: Outcome | undefined;
  let probeAfterMs = firstProbeAfterMs;

  for (;;) {
    const settled = await firstOf(outstanding, probeAfterMs);
    if (settled === undefined) {
      probeAfterMs = probeEveryMs;
      if (outstanding.size < outstandingMax && run.deadline.remainingMs() > 0) add(ask(run));
      continue;
    }
    if (settled.kind === 'called' || settled.kind === 'failed' || settled.kind === 'fence_lost') {
      return settled;
    }
    unanswered = combine(unanswered, settled);
    if (outstanding.size === 0) return unanswered;
  }
}

/** Undefined when none of them settles in time. */
async function firstOf(
  outstanding: ReadonlySet<Promise<Outcome>>,
  withinMs: number,
): Promise<Outcome | undefined> {
  const timer = new AbortController();
  const quiet = delay(withinMs, undefined, { signal: timer.signal }).catch(() => undefined);
  try {
    return await Promise.race([...outstanding, quiet]);
  } finally {
    timer.abort();
  }
}

/** Of two unanswered attempts, the one that leaves more open; a second one refused says nothing about the first. */
function combine(previous: Outcome | undefined, latest: Outcome): Outcome {
  if (previous === undefined) return latest;
  const error = 'error' in latest ? latest.error : overdue;
  const isUncertain = [previous, latest].some(
    (outcome) => outcome.kind !== 'again' || outcome.uncertain,
  );
  return { kind: 'again', error, uncertain: isUncertain };
}

function cascadeOf({ id }: Approval, { decidedGap }: FrozenCall) {
  return decidedGap === null ? null : { approvalId: id, decidedGap };
}

/** One attempt: policy re-checks and signs, and the executor sends what was approved. Never throws. */
async function ask(run: Run): Promise<Outcome> {
  const { deps, claim, approval, frozen, context, deadline } = run;
  let permitted: Awaited<ReturnType<typeof deps.policy.permitReplay>>;
  try {
    permitted = await deps.policy.permitReplay(
      {
        gap: frozen.gap,
        decision: frozen.decision,
        executionId: claim.executionId,
        cascade: cascadeOf(approval, frozen),
      },
      deadline,
    );
    if (permitted.outcome === 'denied') return outcomeOfDenial(permitted.reason);
    if (!(await markAsked(deps.db, claim))) return { kind: 'fence_lost' };
  } catch (thrown) {
    return outcomeOfPolicyError(AppError.from(thrown));
  }
  try {
    const answer = await deps.executor.executeFrozen(
      {
        permit: permitted.permit,
        sealedCall: frozen.sealedCall,
        context,
      },
      deadline,
    );
    if (answer.kind === 'called') return answer;
    const other = new AppError(
      'conflict',
      'The idempotency key of this call belongs to another approval; use a new key.',
      {
        details: { approval_id: answer.approvalId },
      },
    );
    return outcomeOfExecutorError(other, permitted.auditId);
  } catch (thrown) {
    return outcomeOfExecutorError(AppError.from(thrown), permitted.auditId);
  }
}
