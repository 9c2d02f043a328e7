import { distance } from 'fastest-levenshtein';

/** Longer than any name there is: a typing error of none. */
const charactersMax = 128;

/** The known name a mistyped one most likely means; undefined when none is close. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  if (given.length > charactersMax) return undefined;
  const limit = Math.max(1, Math.floor(given.length / 3));
  let best: { name: string; edits: number } | undefined;
  for (const name of known) {
    const edits = distance(given.toLowerCase(), name.toLowerCase());
    if (edits <= limit && (best === undefined || edits < best.edits)) best = { name, edits };
  }
  return best?.name;
}
