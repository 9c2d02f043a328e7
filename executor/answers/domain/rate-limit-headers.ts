/** A number from here on is a Unix time in seconds; a smaller number is a count of seconds. */
const epochSecondsMin = 1_000_000_000;

type Headers = Readonly<Record<string, string>>;

/** How the names of providers' rate limit headers begin, as in `X-Rate-Limit-Remaining`. */
const prefixes = ['ratelimit', 'x-ratelimit', 'x-rate-limit', 'rate-limit'];

/**
 * The seconds until a rate limit is reset, read from the provider's headers; undefined when no
 * header gives them. In the header `RateLimit` they are a parameter: `t` in the later drafts of the
 * IETF (draft-ietf-httpapi-ratelimit-headers), `reset` in the earlier drafts.
 */
export function readResetSeconds(headers: Headers, nowMs: number): number | undefined {
  const texts = prefixes.flatMap((prefix) => [
    headers[`${prefix}-reset-after`],
    headers[`${prefix}-reset`],
  ]);
  for (const text of [...texts, parameterOf(headers, /[;,]\s*(?:t|reset)=(\d{1,10})(?![\d.])/)]) {
    if (text === undefined || !/^\d{1,10}(?:\.\d{1,9})?$/.test(text)) continue;
    const seconds = Number(text);
    return seconds < epochSecondsMin ? seconds : Math.max(0, seconds - nowMs / 1000);
  }
  return undefined;
}

/** Whether the headers say that a rate limit is used up. */
export function isLimitUsedUp(headers: Headers): boolean {
  return (
    prefixes.some((prefix) => headers[`${prefix}-remaining`] === '0') ||
    parameterOf(headers, /[;,]\s*(?:r|remaining)=(0)(?![\d.])/) !== undefined
  );
}

/**
 * Reads a parameter of the header `RateLimit`. Some providers send a plain number there instead.
 */
function parameterOf({ ratelimit = '' }: Headers, pattern: RegExp): string | undefined {
  return pattern.exec(ratelimit.slice(0, 1_000))?.[1];
}
