import type { HttpMethod } from '#contracts/vocabulary';
import type { AppError } from '#errors';
import { readRetryAfterMs } from '../../answers/domain/retry-after.ts';

const safeMethods = new Set<HttpMethod>(['GET', 'HEAD', 'OPTIONS']);

/**
 * Whether a call is a non-read: because of its method, or because its permit says so
 * (docs/reference/permissions.md#risk). A permit cannot make a POST a read.
 */
export function isNonRead(method: HttpMethod, permitSaysSo: boolean): boolean {
  return permitSaysSo || !safeMethods.has(method);
}

/** The maximum number of retries of a read. */
export const retriesMax = 2;

/** The pause before a read without an answer is retried. Undefined when a retry would not help. */
export function retryDelayMsOf({
  error: { code, details },
  attempt,
  jitter,
}: {
  error: Pick<AppError, 'code' | 'details'>;
  /** The number of attempts already made, at least 1. */
  attempt: number;
  /** A random number from 0 to 1, so that retries of many calls do not come at the same moment. */
  jitter: number;
}): number | undefined {
  // An error with `retry_after` comes from the circuit breaker: nothing was sent, and a retry would
  // be refused too.
  if (code !== 'upstream_unreachable' || details['retry_after'] !== undefined) return undefined;
  return 50 * 3 ** (attempt - 1) * (0.5 + jitter);
}

/**
 * The longest time for which the pauses of one call may hold it, in total. A longer wait is
 * returned to the caller as `retry_after`: the caller can use the time, and may have less of it
 * than the wait takes.
 */
export const requestedWaitMsMax = 2_000;

/**
 * The pause that an answer requires before the read is repeated (429 or 503 with Retry-After).
 * Undefined when the answer requires no pause, or a pause longer than `leftMs`, the time for which
 * the call may still be held.
 */
export function requestedWaitMsOf(
  { status, headers }: { status: number; headers: readonly (readonly [string, string])[] },
  nowMs: number,
  leftMs = requestedWaitMsMax,
): number | undefined {
  if (status !== 429 && status !== 503) return undefined;
  const text = headers.find(([name]) => name.toLowerCase() === 'retry-after')?.[1];
  const waitMs = readRetryAfterMs(text, nowMs);
  return waitMs === undefined || waitMs > leftMs ? undefined : waitMs;
}
