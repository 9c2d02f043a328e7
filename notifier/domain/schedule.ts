const minute = 60;
const hour = 60 * minute;

/** Seconds from one failed attempt to the next (docs/reference/events.md#retries-of-deliveries). */
export const retryAfterSeconds = [
  5,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
] as const;

/** A subscription that has failed for so long is disabled. */
export const failingSecondsMax = 5 * 24 * hour;

/**
 * When to try again after `attempts` failed ones, or null when it is exhausted. `random` is
 * from [0, 1): ± 10 % of jitter, so that a recovering receiver is not met by everybody at once.
 * A `Retry-After` of the receiver is honoured when it asks for more, up to a day.
 */
export function nextAttemptInSeconds({
  attempts,
  random,
  retryAfter,
}: {
  attempts: number;
  random: number;
  retryAfter: number | null;
}): number | null {
  const base = retryAfterSeconds[attempts - 1];
  if (base === undefined) return null;
  const jittered = base * (0.9 + 0.2 * random);
  return Math.max(jittered, Math.min(retryAfter ?? 0, 24 * hour));
}

/** `Retry-After` as seconds or as a date (RFC 9110 §10.2.3); null when absent or unreadable. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value);
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : Math.max(0, Math.round((at - nowMs) / 1000));
}
