import { misuse } from '../refusal.ts';

const msPerUnit = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 };
const durationPattern = /^(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?$/;
/** RFC 3339, as the gateway reads it. */
const timePattern = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[ +-]\d\d:\d\d)$/i;
const lastYear = 9_999;

/**
 * The milliseconds of `90s`, `30m`, `24h`, `7d` or `1d12h`. Undefined for any other text. The
 * gateway reads the same forms (docs/reference/approvals.md#fields-of-a-decision).
 */
function readDuration(text: string): number | undefined {
  const amounts = durationPattern.exec(text)?.slice(1);
  if (amounts === undefined || text === '') return undefined;
  const units = Object.values(msPerUnit);
  return units.reduce((sum, ms, index) => sum + Number(amounts[index] ?? 0) * ms, 0);
}

/**
 * Reads an option that takes a point in time: a date and time, which the gateway gets as it is
 * written, or a duration that starts or ends now.
 *
 * @throws Refusal for any other text.
 */
export function readTime(
  text: string | undefined,
  option: string,
  direction: 'from now' | 'ago',
): string | undefined {
  if (text === undefined || isTime(text)) return text;
  const durationMs = readDuration(text);
  const time = new Date(Date.now() + (direction === 'ago' ? -1 : 1) * (durationMs ?? Number.NaN));
  const year = time.getUTCFullYear();
  if (year >= 1 && year <= lastYear) return time.toISOString();
  throw misuse(
    `${option} takes a date and time such as 2027-01-31T00:00:00Z, or a time ${direction} such as 30m, 24h or 7d.`,
  );
}

function isTime(text: string): boolean {
  const day = timePattern.exec(text)?.[1];
  if (day === undefined) return false;
  const date = new Date(`${day}T00:00:00Z`); // the 30th of February would become the 2nd of March
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

/** @throws Refusal unless the value of `--ttl` is a duration, which the gateway reads itself. */
export function checkTtl(ttl: string): void {
  if (readDuration(ttl) === undefined) {
    throw misuse('--ttl takes a time such as 30m, 24h, 7d or 1d12h.');
  }
}

/**
 * The milliseconds of the value of an option that says how long to wait. A number without a unit
 * means seconds.
 *
 * @throws Refusal if it is no time.
 */
export function readWaitTime(time: string, option = '--wait'): number {
  const durationMs = readDuration(/^\d+$/.test(time) ? `${time}s` : time);
  if (durationMs !== undefined) return durationMs;
  throw misuse(`${option} takes a time such as 90s, 30m, 24h or 7d.`);
}
