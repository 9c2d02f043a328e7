import { AppError } from '#errors';

const secondsPerUnit = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;
type TimeUnit = keyof typeof secondsPerUnit;

const ttlSecondsMin = 60;
const ttlSecondsMax = 365 * secondsPerUnit.d;

/**
 * Parses the `ttl` of a decision, such as `24h`, `30d` or `1d12h`, into seconds; throws
 * `invalid_params` for other text. Form: `<n>(s|m|h|d)`, combinable, each unit at most once and from
 * large to small, 1 minute to 365 days.
 */
export function parseTtl(ttl: string): number {
  const match = /^(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?$/.exec(ttl);
  if (!match || ttl === '') throw invalidTtl('must look like 24h, 30d or 1d12h');
  const units: readonly TimeUnit[] = ['d', 'h', 'm', 's'];
  const seconds = units.reduce(
    (sum, unit, index) => sum + Number(match[index + 1] ?? 0) * secondsPerUnit[unit],
    0,
  );
  if (seconds < ttlSecondsMin || seconds > ttlSecondsMax) {
    throw invalidTtl('must be between 1 minute and 365 days');
  }
  return seconds;
}

function invalidTtl(problem: string): AppError {
  return new AppError('invalid_params', `The ttl ${problem}.`, {
    details: { issues: [{ path: 'ttl', message: problem, expected: '1m to 365d' }] },
  });
}
