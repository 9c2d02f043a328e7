import type { HttpMethod } from '#contracts/vocabulary';
import type { AppError } from '#errors';

const safeMethods = new Set<HttpMethod>(['GET', 'HEAD', 'OPTIONS']);

/** Whether a call is a non-read; the permit's word can only add to it (docs/reference/permissions.md#risk). */
export function isNonRead(method: HttpMethod, permitSaysSo: boolean): boolean {
  return permitSaysSo || !safeMethods.has(method);
}

/** How often a read is sent again, at most. */
export const retriesMax = 2;

/** How long to wait before sending a read again that had no answer; undefined when it would not help. */
export function retryDelayMs({
  error: { code, details },
  attempt,
  jitter,
}: {
  error: Pick<AppError, 'code' | 'details'>;
  /** Of those already made, from 1. */
  attempt: number;
  /** 0 to 1. */
  jitter: number;
}): number | undefined {
  // With `retry_after` it was not even tried: the circuit breaker is open.
  if (code !== 'upstream_unreachable' || details['retry_after'] !== undefined) return undefined;
  return 50 * 3 ** (attempt - 1) * (0.5 + jitter);
}

/** How long an answer asks to wait (429 or 503 with Retry-After, RFC 9110 §10.2.3); undefined when it does not. */
export function askedToWaitMs(
  { status, headers }: { status: number; headers: readonly (readonly [string, string])[] },
  now: number,
): number | undefined {
  if (status !== 429 && status !== 503) return undefined;
  const text = headers.find(([name]) => name.toLowerCase() === 'retry-after')?.[1].trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  // An HTTP-date always names its weekday; Date.parse alone would read almost anything as some date.
  const at = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
