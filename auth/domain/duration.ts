const secondsIn: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
const shape = /^(\d{1,9}[smhd])+$/;

/** `<n>(s|m|h|d)`, combinable (`1d12h`), as seconds; undefined when it is not written like that. */
export function parseDuration(text: string): number | undefined {
  if (!shape.test(text)) return undefined;
  return [...text.matchAll(/(\d+)([smhd])/g)]
    .map(([, amount, unit]) => Number(amount) * (secondsIn[unit ?? ''] ?? 0))
    .reduce((sum, seconds) => sum + seconds, 0);
}
