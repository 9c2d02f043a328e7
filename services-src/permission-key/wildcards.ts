/**
 * Where the wildcards of a pattern are. Keys spell a literal `*` as `%2A`, so every `*` in a pattern
 * is a wildcard (docs/reference/permissions.md#patterns).
 */
const asterisk = '*';

/** As the service or action of a pattern: every service or action. */
export const anyName = asterisk;
/** As the action of a pattern of the service `http`: every method. */
export const anyMethod = 'ANY';

/** Whether the argument of a pattern matches every argument. */
export function isAnyArgument(arg: string): boolean {
  return arg === '*' || arg === '**';
}

export function hasWildcard(pattern: string): boolean {
  return pattern.includes(asterisk);
}

/** The pattern with each run of text between wildcards replaced. */
export function mapLiterals(pattern: string, map: (literal: string) => string): string {
  return pattern.replace(/[^*]+/g, map);
}

/** Encodes each `*` as in permission keys, for text without wildcards. */
export function encodeAsterisks(text: string): string {
  return text.replaceAll(asterisk, '%2A');
}

/**
 * Puts the wildcards of `pattern` back into a form of it in which every `*` was encoded. A `*` that
 * the pattern itself encodes stays encoded.
 */
export function restoreWildcards(pattern: string, encoded: string): string {
  const asterisks = pattern.match(/\*|%2A/gi) ?? [];
  let at = 0;
  return encoded.replaceAll('%2A', () => (asterisks[at++] === asterisk ? asterisk : '%2A'));
}

/**
 * Splits an address pattern, `{host}{path}`, where its host is certain to end: before the first
 * slash, or before a `**`, which may match across that slash. Undefined when it has neither.
 */
export function splitAddress(
  pattern: string,
): { readonly host: string; readonly rest: string } | undefined {
  const hostEnd = pattern.search(/\/|\*\*/);
  return hostEnd < 0
    ? undefined
    : { host: pattern.slice(0, hostEnd), rest: pattern.slice(hostEnd) };
}

/**
 * The host of an address pattern; undefined when the host contains a wildcard or is not followed by
 * a path.
 */
export function writtenHostOf(pattern: string): string | undefined {
  const [, host] = /^([^/*]+)\//.exec(pattern) ?? [];
  return host;
}
