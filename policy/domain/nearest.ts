import { closest, distance } from 'fastest-levenshtein';

const CHARACTERS_MAX = 200;

/** The known name that a mistyped one was probably meant to be, if one is near enough. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  if (known.length === 0 || given.length > CHARACTERS_MAX) return undefined;
  const lower = given.toLowerCase();
  const candidate = known.find((name) => name.toLowerCase() === lower) ?? closest(given, known);
  const allowed = given.length < 4 ? 1 : Math.max(2, Math.floor(given.length / 3));
  return candidate.toLowerCase() === lower || distance(given, candidate) <= allowed
    ? candidate
    : undefined;
}
