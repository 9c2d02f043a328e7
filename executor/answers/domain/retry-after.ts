/**
 * The wait that a `Retry-After` header asks for, in milliseconds (RFC 9110 §10.2.3). Undefined when
 * the text is neither seconds nor an HTTP-date.
 */
export function readRetryAfterMs(text: string | undefined, nowMs: number): number | undefined {
  const trimmedText = text?.trim() ?? '';
  if (/^\d{1,9}$/.test(trimmedText)) return Number(trimmedText) * 1000;
  // An HTTP-date always begins with a weekday. Without this test, `Date.parse` would read almost
  // any text as a date.
  const dateMs = /^[A-Z][a-z]{2,8},? /.test(trimmedText) ? Date.parse(trimmedText) : Number.NaN;
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}
