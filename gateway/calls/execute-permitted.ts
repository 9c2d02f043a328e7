import { deadlineIn } from '#bus';
import { executor as executorContract } from '#contracts/bus/executor';
import type { Call } from '#contracts/call';
import type { ErrorCode } from '#contracts/errors';
import { platformKey } from '#contracts/platform';
import { AppError } from '#errors';
import type { Caller } from '../authentication/caller.ts';
import { recordUnanswered } from '../records/record-call.ts';
import { askUntilAnswered } from './ask-until-answered.ts';
import type { ParsedCall } from './domain/call-body.ts';
import type { CallDeps, IncomingCall } from './incoming-call.ts';

export type PermitDecision = Extract<
  Awaited<ReturnType<CallDeps['policy']['decide']>>,
  { outcome: 'permit' }
>;
type ExecutionAnswer = Awaited<ReturnType<CallDeps['executor']['execute']>>;

export interface PermittedCall {
  readonly incoming: IncomingCall;
  readonly caller: Caller;
  readonly freshCall: Extract<ParsedCall, { kind: 'fresh' }>;
  readonly decision: PermitDecision;
}

/** The executor has this much more time to answer than the upstream. */
const executorExtraMs = 8_000;
/**
 * The pauses before the second, third and fourth attempt. `full` applies if the executor was full:
 * another one may have room, so the first pauses are short. Only from the third attempt on may the
 * call wait at a full executor. `none` applies if no executor answered: one is probably starting.
 */
const pausesMs = { full: [20, 80, 300], none: [50, 150, 400] };
const attemptsWithoutWaiting = 2;

/**
 * Has an executor perform a permitted call; if this executor dies, another one. Returns what became
 * of the call. The errors that it throws may be shown to the caller.
 */
export async function executePermittedCall(
  deps: CallDeps,
  permittedCall: PermittedCall,
): Promise<ExecutionAnswer> {
  const { incoming, caller, decision } = permittedCall;
  using client = watchClient(deps, incoming, decision);
  using followed = deps.executors.follow(decision.auditId);
  try {
    return await askUntilAnswered({
      askExecutor: () => askUntilAccepted(deps, permittedCall, () => client.assertConnected()),
      followedCall: followed,
      budget: deps.secondExecutions,
    });
  } catch (thrown) {
    const error = AppError.from(thrown);
    const answerableError = toAnswerableError(error, decision);
    if (answerableError !== error && answerableError.code === 'outcome_unknown') {
      const { auditId } = decision;
      const { context } = incoming;
      await recordUnanswered(deps, { caller, context, summary: decision, auditId });
    }
    throw answerableError;
  }
}

/** Asks executors, one after the other, until one of them takes the call. */
async function askUntilAccepted(
  { executor }: CallDeps,
  { incoming, caller, freshCall, decision }: PermittedCall,
  assertConnected: () => void,
): Promise<ExecutionAnswer> {
  const { call, options } = freshCall;
  const { context } = incoming;
  for (let attempt = 0; ; attempt += 1) {
    assertConnected();
    try {
      return await executor.execute(
        {
          permit: decision.permit,
          call,
          options,
          context,
          ...platformCallerOf(call, caller),
          mayWait: attempt >= attemptsWithoutWaiting,
        },
        deadlineIn(options.timeoutMs + executorExtraMs),
      );
    } catch (thrown) {
      const error = AppError.from(thrown);
      const isFull = error.details['busy'] === true;
      const pauseMs = (isFull ? pausesMs.full : pausesMs.none)[attempt];
      if (!wasNotAccepted(error) || pauseMs === undefined) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/** Ends a read when its client disconnects. A call that may have effects is not ended. */
function watchClient(
  { announceDisconnect }: CallDeps,
  { signal }: IncomingCall,
  decision: PermitDecision,
) {
  const disconnectSignal = decision.nonRead ? undefined : signal();
  const announceClientGone = () => announceDisconnect(decision.auditId);
  disconnectSignal?.addEventListener('abort', announceClientGone);
  return {
    assertConnected() {
      if (disconnectSignal?.aborted !== true) return;
      throw new AppError('unavailable', 'The client has gone, so nothing was sent.');
    },
    [Symbol.dispose]: () => disconnectSignal?.removeEventListener('abort', announceClientGone),
  };
}

/**
 * Actions of the service `platform` are performed by the components that own them, which need the
 * caller's principal.
 */
function platformCallerOf({ service }: Call, { principal }: Caller): { principal?: string } {
  return service === platformKey ? { principal } : {};
}

/**
 * Whether no executor accepted the call: all executors were full, had no room for this caller, or
 * did not answer. In these cases no dispatch was recorded, so the permit can be used again.
 */
function wasNotAccepted({ code, details }: AppError): boolean {
  if (details['component'] !== 'executor') return false;
  return code === 'rate_limited' || (code === 'unavailable' && details['lost'] !== true);
}

const declaredErrors: ReadonlySet<ErrorCode> = new Set(executorContract.endpoints.execute.errors);

/**
 * Turns an error of the executor into the error for the caller. If the executor's answer was lost,
 * or the executor's contract does not declare the error, a non-read may have been sent. The error
 * then becomes `outcome_unknown`, which tells callers not to retry
 * (docs/reference/errors.md#outcome-unknown).
 */
function toAnswerableError(error: AppError, decision: PermitDecision): AppError {
  const isLost = error.code === 'unavailable' && error.details['lost'] === true;
  if (decision.nonRead && (isLost || !declaredErrors.has(error.code))) {
    return new AppError(
      'outcome_unknown',
      'The call may have been made, but its answer was lost. Do not repeat it; look at what it should have changed.',
      { details: { audit_id: decision.auditId }, cause: error },
    );
  }
  if (isLost) {
    return new AppError(
      'unavailable',
      'The answer was lost on its way. This was a read, so it is safe to try again.',
      { cause: error },
    );
  }
  return error;
}
