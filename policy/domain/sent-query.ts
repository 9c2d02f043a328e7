import type { JsonValue } from '#contracts/vocabulary';

/** The pairs of a query in one record; a name that is there twice becomes a list. */
export function sentQuery(pairs: Iterable<[string, string]>): Record<string, JsonValue> {
  const merged = new Map<string, JsonValue>();
  for (const [name, value] of pairs) {
    const earlier = merged.get(name);
    merged.set(name, earlier === undefined ? value : [earlier, value].flat());
  }
  return Object.fromEntries(merged);
}
