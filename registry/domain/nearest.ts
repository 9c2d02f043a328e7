import { nearestName } from '#errors';

/** ` Did you mean "x"?`, or nothing. */
export function didYouMean(given: string, known: readonly string[]): string {
  const name = nearestName(given, known);
  return name === undefined ? '' : ` Did you mean "${name}"?`;
}
