import type { CallResult } from '#contracts/call';
import type { AppError } from '#errors';
import type { ExecutionError } from './approval.ts';

/** What one request to policy and the executor said about an execution. */
export type Outcome =
  | { readonly kind: 'called'; readonly result: CallResult; readonly auditId: string }
  /** Ended without an answer of the upstream's. */
  | { readonly kind: 'failed'; readonly error: ExecutionError; readonly auditId: string | null }
  /** Policy would not sign: nothing was asked of the executor this time. */
  | { readonly kind: 'refused'; readonly error: ExecutionError }
  /** No end: to be asked again with the same ids. */
  | {
      readonly kind: 'again';
      readonly error: ExecutionError;
      /** The executor may have sent it all the same. */
      readonly uncertain: boolean;
    }
  /** Somebody else has claimed the execution since; whatever we do must have no effect. */
  | { readonly kind: 'fence_lost' };

/** Marks a refusal that callers read as a result, not as an error (docs/reference/calling.md#answers). */
export const deniedError = 'denied';

/** Policy could not be reached, or refuses. Either way nothing leaves. */
export function outcomeOfPolicyError(error: AppError): Outcome {
  if (['unavailable', 'rate_limited', 'internal'].includes(error.code)) {
    return { kind: 'again', error: errorOf(error), uncertain: false };
  }
  return { kind: 'refused', error: errorOf(error) };
}

export function outcomeOfDenial(reason: string): Outcome {
  return { kind: 'refused', error: { error: deniedError, message: reason, details: {} } };
}

/**
 * What the executor's error means. Asking again is safe after any of these, because an approved
 * call has one dispatch row, ever; `uncertain` only decides how it ends when time is up.
 */
export function outcomeOfExecutorError(error: AppError, auditId: string): Outcome {
  const again = (uncertain: boolean): Outcome => ({
    kind: 'again',
    error: errorOf(error),
    uncertain,
  });
  if (error.code === 'unavailable') return again(!isCertainlyUnsent(error));
  // The executor has no room for this caller just now.
  if (error.code === 'rate_limited') return again(false);
  if (error.code === 'execution_in_progress' || error.code === 'internal') return again(true);
  // The permit had expired when it was read: dispatch did not begin.
  if (error.code === 'unauthenticated') return again(false);
  return { kind: 'failed', error: errorOf(error), auditId };
}

/** Nobody heard the request, or the executor was full and said so before any dispatch row. */
function isCertainlyUnsent({ details }: AppError): boolean {
  return (
    details['component'] === 'executor' && (details['lost'] === false || details['busy'] === true)
  );
}

/**
 * How an execution ends that can not be asked about any more, `last` being the last that was
 * heard: honest about whether something may have left.
 */
export function endWithoutAnswer(
  last: ExecutionError,
  { mayHaveLeft, nonRead }: { mayHaveLeft: boolean; nonRead: boolean },
): Outcome {
  if (!mayHaveLeft || !nonRead) return { kind: 'failed', error: last, auditId: null };
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

export function errorOf({ code, message, details }: AppError): ExecutionError {
  return { error: code, message, details };
}

const delayMsMax = 30_000;

/** How long to wait before asking again: doubling from a quarter of a second, spread by ± 20 %. */
export function backoffMs(attempts: number, random: number): number {
  const delayMs = Math.min(delayMsMax, 250 * 2 ** Math.max(0, Math.min(attempts, 20) - 1));
  return Math.round(delayMs * (0.8 + 0.4 * random));
}
