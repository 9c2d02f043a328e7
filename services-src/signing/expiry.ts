/** The most by which the clocks of two components may differ. */
const clockSkewMs = 1_000;

/**
 * Whether a signed statement has expired. The local clock may be ahead of the signer's clock. Times
 * are in ms since 1970.
 */
export function isExpired(expiresAt: number, now: number = Date.now()): boolean {
  return now > expiresAt + clockSkewMs;
}

/**
 * Whether a signed statement was issued in the future, which means that the signer's or the
 * reader's clock is wrong. Such a statement would be valid for longer than it should be. Times are in ms since
 * 1970.
 */
export function isEarly(issuedAt: number | undefined, now: number = Date.now()): boolean {
  return issuedAt !== undefined && issuedAt > now + clockSkewMs;
}

/**
 * Whether a signed statement was issued at most `ageMsMax` ago, and not in the future. Times are in
 * ms since 1970.
 */
export function isRecent(
  issuedAt: number,
  { ageMsMax, now = Date.now() }: { ageMsMax: number; now?: number },
): boolean {
  const ageMs = now - issuedAt;
  return ageMs <= ageMsMax && !isEarly(issuedAt, now);
}
