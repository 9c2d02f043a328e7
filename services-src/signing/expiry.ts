/** Clocks of two components may differ by this much. */
const clockSkewMs = 1_000;

/** Whether a statement has expired, by a clock that may be ahead of its signer's. Times in ms since 1970. */
export function isExpired(expiresAt: number, now: number = Date.now()): boolean {
  return now > expiresAt + clockSkewMs;
}

/** Whether a statement was issued at most `ageMsMax` ago, and not in the future. Times in ms since 1970. */
export function isRecent(
  issuedAt: number,
  { ageMsMax, now = Date.now() }: { ageMsMax: number; now?: number },
): boolean {
  const ageMs = now - issuedAt;
  return ageMs <= ageMsMax && ageMs >= -clockSkewMs;
}
