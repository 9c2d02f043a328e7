import { closest, distance } from 'fastest-levenshtein';

const charactersMax = 128;
/** Names that it is compared with: a hint is worth no more time. */
const comparedMax = 500;

/** The known name that a mistyped one was probably meant to be, if one is near enough. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  if (known.length === 0 || given.length > charactersMax) return undefined;
  const allowed = given.length < 4 ? 1 : Math.max(2, Math.floor(given.length / 3));
  const near = known
    .slice(0, comparedMax)
    .filter((name) => Math.abs(name.length - given.length) <= allowed);
  if (near.length === 0) return undefined;
  const lower = given.toLowerCase();
  const candidate = near.find((name) => name.toLowerCase() === lower) ?? closest(given, near);
  return candidate.toLowerCase() === lower || distance(given, candidate) <= allowed
    ? candidate
    : undefined;
}
