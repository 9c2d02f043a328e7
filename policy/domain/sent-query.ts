import type { JsonValue } from '#contracts/vocabulary';

/** The pairs of a query in one record; a name that is there twice becomes a list. */
export function sentQuery(pairs: Iterable<[string, string]>): Record<string, JsonValue> {
  const merged = new Map<string, string[]>();
  for (const [name, value] of pairs) {
    const earlier = merged.get(name);
    if (earlier === undefined) merged.set(name, [value]);
    else earlier.push(value);
  }
  return Object.fromEntries(
    [...merged].map(([name, values]) => [name, values.length > 1 ? values : (values[0] ?? '')]),
  );
}
