import { nearestName } from '#errors';

/**
 * The sentence ` Did you mean "x"?` with a leading space, or an empty string when no known name is
 * similar to the given one.
 */
export function didYouMean(givenName: string, knownNames: readonly string[]): string {
  const name = nearestName(givenName, knownNames);
  return name === undefined ? '' : ` Did you mean "${name}"?`;
}
