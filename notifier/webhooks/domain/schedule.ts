const secondsPerMinute = 60;
const secondsPerHour = 60 * secondsPerMinute;

/**
 * Seconds between one failed attempt and the next (docs/reference/events.md#retries-of-deliveries).
 */
export const retryAfterSeconds = [
  5,
  5 * secondsPerMinute,
  30 * secondsPerMinute,
  2 * secondsPerHour,
  5 * secondsPerHour,
  10 * secondsPerHour,
  14 * secondsPerHour,
  20 * secondsPerHour,
  24 * secondsPerHour,
] as const;

/** A subscription that has failed for longer than this is disabled. */
export const failingSecondsMax = 5 * 24 * secondsPerHour;

/**
 * Returns the seconds until the next attempt, or null when the schedule is exhausted. `random` is
 * in [0, 1) and adds ±10 % of jitter, so that a recovering endpoint does not receive every retry at
 * once. A longer `Retry-After` of the endpoint is honoured, up to one day.
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
  const baseSeconds = retryAfterSeconds[attempts - 1];
  if (baseSeconds === undefined) return null;
  const jitteredSeconds = baseSeconds * (0.9 + 0.2 * random);
  return Math.max(jitteredSeconds, Math.min(retryAfter ?? 0, 24 * secondsPerHour));
}

/**
 * Parses `Retry-After`, given as seconds or as a date (RFC 9110 §10.2.3). Returns null if the
 * header is absent or malformed.
 */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value);
  const dateMs = Date.parse(value);
  return Number.isNaN(dateMs) ? null : Math.max(0, Math.round((dateMs - nowMs) / 1000));
}
