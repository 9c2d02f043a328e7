import type { CallResult } from '#contracts/call';
import type { AppError } from '#errors';
import { deniedErrorCode } from '../../approval/domain/approval.ts';
import type { ExecutionError } from '../../approval/domain/approval.ts';

/** How an attempt to run an execution ended. */
export type Outcome =
  | { readonly kind: 'called'; readonly result: CallResult; readonly auditId: string }
  /** The execution ended without an answer from the upstream. */
  | { readonly kind: 'failed'; readonly error: ExecutionError; readonly auditId: string | null }
  /** Policy signed no permit, so this attempt did not ask the executor. */
  | { readonly kind: 'refused'; readonly error: ExecutionError }
  /** The execution has not ended; another attempt with the same ids follows. */
  | {
      readonly kind: 'again';
      readonly error: ExecutionError;
      /** Whether the executor may nevertheless have sent the call. */
      readonly uncertain: boolean;
    }
  /**
   * Another process has claimed the execution since this attempt began, so this attempt must change
   * nothing.
   */
  | { readonly kind: 'fence_lost' };

/**
 * The outcome when policy cannot be reached (another attempt follows) or refuses. In both cases
 * nothing is sent.
 */
export function outcomeOfPolicyError(error: AppError): Outcome {
  if (['unavailable', 'rate_limited', 'internal'].includes(error.code)) {
    return { kind: 'again', error: executionErrorOf(error), uncertain: false };
  }
  return { kind: 'refused', error: executionErrorOf(error) };
}

export function outcomeOfDenial(reason: string): Outcome {
  return { kind: 'refused', error: { error: deniedErrorCode, message: reason, details: {} } };
}

/**
 * The outcome of an error from the executor. Another attempt is always safe, because an approved
 * call has only one dispatch row and so is sent at most once. `uncertain` only decides how the
 * execution ends when its time is up.
 */
export function outcomeOfExecutorError(error: AppError, auditId: string): Outcome {
  const retryOutcomeOf = (uncertain: boolean): Outcome => ({
    kind: 'again',
    error: executionErrorOf(error),
    uncertain,
  });
  if (error.code === 'unavailable') return retryOutcomeOf(!isCertainlyUnsent(error));
  // The caller has used up its share of the executor's capacity, so nothing was sent.
  if (error.code === 'rate_limited') return retryOutcomeOf(false);
  if (error.code === 'execution_in_progress' || error.code === 'internal')
    return retryOutcomeOf(true);
  // The permit expired before the executor read it, so nothing was sent.
  if (error.code === 'unauthenticated') return retryOutcomeOf(false);
  return { kind: 'failed', error: executionErrorOf(error), auditId };
}

/**
 * Whether the call was certainly not sent: no executor received the request, a busy executor
 * answered before it wrote a dispatch row, or an executor could not write one.
 */
function isCertainlyUnsent({ details }: AppError): boolean {
  if (details['unsent'] === true) return true;
  return (
    details['component'] === 'executor' && (details['lost'] === false || details['busy'] === true)
  );
}

/**
 * How an execution ends after its last attempt, which failed with the error `last`: with
 * `outcome_unknown` if the request may have been sent and is not a read, otherwise with `last`.
 */
export function endWithoutAnswer(
  lastError: ExecutionError,
  { mayHaveLeft, nonRead }: { mayHaveLeft: boolean; nonRead: boolean },
): Outcome {
  if (!mayHaveLeft || !nonRead) return { kind: 'failed', error: lastError, auditId: null };
  return {
    kind: 'failed',
    auditId: null,
    error: {
      error: 'outcome_unknown',
      message:
        'The request may have been sent, but its answer was lost. Check with the service before asking for it again; it is never sent again by itself.',
      details: {},
    },
  };
}

export function executionErrorOf({ code, message, details }: AppError): ExecutionError {
  return { error: code, message, details };
}

const delayMsMax = 30_000;

/** The delay before the next attempt: doubles from a quarter of a second up to 30 s, and varies by ± 20 %. */
export function backoffMsOf(attempts: number, random: number): number {
  const delayMs = Math.min(delayMsMax, 250 * 2 ** Math.max(0, Math.min(attempts, 20) - 1));
  return Math.round(delayMs * (0.8 + 0.4 * random));
}
