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

/** A query as most servers read it, and as others do where they differ. */
export interface ReadQuery {
  readonly query: Readonly<Record<string, JsonValue>>;
  /** By servers that take `;` for `&`, or a `+` for itself. */
  readonly otherQuery?: Readonly<Record<string, JsonValue>>;
}

/** `further` pairs are encoded when they are sent: all servers read them alike. */
export function readQuery(text: string, further: Iterable<[string, string]> = []): ReadQuery {
  const query = sentQuery([...new URLSearchParams(text), ...further]);
  if (!/[;+]/.test(text)) return { query };
  const pairs = text.replaceAll(';', '&');
  const literal = pairs.replaceAll('+', '%2B');
  const otherQuery = sentQuery([...new URLSearchParams(pairs), ...new URLSearchParams(literal)]);
  return { query, otherQuery };
}
