import { closest, distance } from 'fastest-levenshtein';

/** The known name a mistyped one was probably meant to be, if any is near enough to suggest. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  if (known.length === 0 || given.length > 200) return undefined;
  const candidate = closest(given, known);
  const allowed = Math.max(2, Math.floor(given.length / 3));
  return distance(given, candidate) <= allowed ? candidate : undefined;
}

/** ` Did you mean "x"?`, or nothing. */
export function didYouMean(given: string, known: readonly string[]): string {
  const name = nearestName(given, known);
  return name === undefined ? '' : ` Did you mean "${name}"?`;
}
