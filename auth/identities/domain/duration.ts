const secondsByUnit: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
const durationPattern = /^(\d{1,9}[smhd])+$/;

/** Parses `<n>(s|m|h|d)`, also combined (`1d12h`), to seconds; undefined for any other text. */
export function parseDuration(text: string): number | undefined {
  if (!durationPattern.test(text)) return undefined;
  return [...text.matchAll(/(\d+)([smhd])/g)]
    .map(([, amount, unit]) => Number(amount) * (secondsByUnit[unit ?? ''] ?? 0))
    .reduce((sum, seconds) => sum + seconds, 0);
}
