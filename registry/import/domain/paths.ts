/** The parts of an operation's path. */
export interface OperationPath {
  /**
   * The key under `paths` in the template. A part after `#` distinguishes operations that have the
   * same path and method.
   */
  readonly key: string;
  /** The path that requests have: the key without the part after `#`. */
  readonly sentPath: string;
  /**
   * Query parameters with a fixed value that the source wrote into the path, such as
   * `?action=list`.
   */
  readonly query: Readonly<Record<string, string>>;
  /** The fixed values in the part after `#`, such as `Action=ListUsers` (AWS). */
  readonly labelValues: Readonly<Record<string, string>>;
  /**
   * Query parameters whose value is a placeholder in the path of the source: from the name of the
   * placeholder to the name of the query parameter.
   */
  readonly queryNamesByPlaceholder: Readonly<Record<string, string>>;
}

/**
 * Splits a path of the source into its parts. OpenAPI allows one operation per path and method.
 * Some services choose the operation by a query parameter or a header; their documents therefore
 * have paths such as `/?action=list` or `/#Action=List`.
 */
export function readPath(givenPath: string): OperationPath {
  const path = givenPath.startsWith('/') ? givenPath : `/${givenPath}`;
  const [beforeLabel, label] = splitAt(path, '#');
  const [sent, query] = splitAt(beforeLabel, '?');
  const pairs = parsePairs(query);
  const movedNames = pairs.flatMap(([name, value]) => {
    const placeholder = /^\{([^{}]+)\}$/.exec(value)?.[1];
    return placeholder === undefined ? [] : [[placeholder, name] as const];
  });
  const constants = pairs.filter(([, value]) => value !== '' && !/[{}]/.test(value));
  const labels = [query, label]
    .filter((text) => text !== '')
    .map((text) => text.replaceAll('#', ' '));
  return {
    key: labels.length === 0 ? sent : `${sent}#${labels.join('&')}`,
    sentPath: sent,
    query: Object.fromEntries(constants),
    labelValues: Object.fromEntries(parsePairs(label)),
    queryNamesByPlaceholder: Object.fromEntries(movedNames),
  };
}

export function placeholderNamesOf(path: string): string[] {
  return [...new Set([...path.matchAll(/\{([^{}]+)\}/g)].map((match) => match[1] ?? ''))];
}

/**
 * The path without the names of its placeholders. Paths with equal shapes, such as `/issues/{id}`
 * and `/issues/{number}`, are the same path (OpenAPI §4.8.8.1).
 */
export function shapeOf(key: string): string {
  return key.replaceAll(/\{[^{}]*\}/g, '{}');
}

function parsePairs(text: string): [string, string][] {
  return text
    .split('&')
    .filter((pair) => pair.includes('='))
    .map((pair) => splitAt(pair, '='));
}

function splitAt(text: string, separator: string): [string, string] {
  const index = text.indexOf(separator);
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + 1)];
}
