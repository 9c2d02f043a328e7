const secondsOf = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;
type Unit = keyof typeof secondsOf;

const ttlSecondsMin = 60;
const ttlSecondsMax = 365 * secondsOf.d;

/**
 * Seconds of a `ttl` such as `24h`, `30d` or `1d12h`, or what is wrong with it: `<n>(s|m|h|d)`,
 * combinable, each unit at most once and from large to small, 1 minute to 365 days.
 */
export function readTtl(ttl: string): { readonly seconds: number } | { readonly problem: string } {
  const match = /^(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?$/.exec(ttl);
  if (!match || ttl === '') return { problem: 'must look like 24h, 30d or 1d12h' };
  const units: readonly Unit[] = ['d', 'h', 'm', 's'];
  const seconds = units.reduce(
    (sum, unit, index) => sum + Number(match[index + 1] ?? 0) * secondsOf[unit],
    0,
  );
  if (seconds < ttlSecondsMin || seconds > ttlSecondsMax) {
    return { problem: 'must be between 1 minute and 365 days' };
  }
  return { seconds };
}
