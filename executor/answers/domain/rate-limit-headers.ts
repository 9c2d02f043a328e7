/** The smallest number that can be a time; a smaller one is a number of seconds. */
const epochSecondsMin = 1_000_000_000;

type Headers = Readonly<Record<string, string>>;

/** The spellings that providers use before the words of a limit, as in `X-Rate-Limit-Remaining`. */
const prefixes = ['ratelimit', 'x-ratelimit', 'x-rate-limit', 'rate-limit'];

/**
 * The seconds until a limit is reset, of the headers by which providers say it; undefined when none
 * does. `RateLimit` has it as a parameter: `t` in the later drafts of the IETF
 * (draft-ietf-httpapi-ratelimit-headers), `reset` in the earlier ones.
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

/** Whether the headers say that nothing is left of a limit. */
export function isLimitUsedUp(headers: Headers): boolean {
  return (
    prefixes.some((prefix) => headers[`${prefix}-remaining`] === '0') ||
    parameterOf(headers, /[;,]\s*(?:r|remaining)=(0)(?![\d.])/) !== undefined
  );
}

/** A parameter of `RateLimit`, whose other uses are plain numbers. */
function parameterOf({ ratelimit = '' }: Headers, pattern: RegExp): string | undefined {
  return pattern.exec(ratelimit.slice(0, 1_000))?.[1];
}
