import type { JsonValue } from '#contracts/vocabulary';

/**
 * The name-value pairs of a query as one record. A name that occurs several times gets a list of
 * its values.
 */
export function sentQuery(pairs: Iterable<[string, string]>): Record<string, JsonValue> {
  const valuesByName = new Map<string, string[]>();
  for (const [name, value] of pairs) {
    const earlierValues = valuesByName.get(name);
    if (earlierValues === undefined) valuesByName.set(name, [value]);
    else earlierValues.push(value);
  }
  return Object.fromEntries(
    [...valuesByName].map(([name, values]) => [
      name,
      values.length > 1 ? values : (values[0] ?? ''),
    ]),
  );
}

/** A query as most servers read it, and, if it differs, as the other servers read it. */
export interface ReadQuery {
  readonly query: Readonly<Record<string, JsonValue>>;
  /** The query as it is read by servers that split at `;` or do not read `+` as a blank. */
  readonly otherQuery?: Readonly<Record<string, JsonValue>>;
}

/**
 * Parses a query. The pairs of `further` are encoded when they are sent, so all servers read them
 * in the same way.
 */
export function readQuery(text: string, further: Iterable<[string, string]> = []): ReadQuery {
  const query = sentQuery([...new URLSearchParams(text), ...further]);
  if (!/[;+]/.test(text)) return { query };
  const pairs = text.replaceAll(';', '&');
  const literalPairs = pairs.replaceAll('+', '%2B');
  const otherQuery = sentQuery([
    ...new URLSearchParams(pairs),
    ...new URLSearchParams(literalPairs),
  ]);
  return { query, otherQuery };
}
