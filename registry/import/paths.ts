import type { Parameter } from './parameters.ts';

/** Where an operation is, as a template says it. */
export interface OperationPath {
  /** Key under `paths`: what follows a `#` only tells operations of one path and method apart. */
  readonly key: string;
  /** Without that. */
  readonly sent: string;
  /** Constants of the query that the source wrote into its path. */
  readonly query: Readonly<Record<string, string>>;
  /** Constants that the label names, such as `Action=ListUsers` (AWS). */
  readonly label: Readonly<Record<string, string>>;
  /** Query parameters by the placeholder that stands for their value in the path. */
  readonly moved: Readonly<Record<string, string>>;
}

/**
 * OpenAPI has one operation per path and method. Documents of services that choose the operation
 * by a query parameter or a header get around it with `/?action=list` or `/#Action=List`.
 */
export function readPath(given: string): OperationPath {
  const path = given.startsWith('/') ? given : `/${given}`;
  const [beforeLabel, label] = splitAt(path, '#');
  const [sent, query] = splitAt(beforeLabel, '?');
  const pairs = pairsOf(query);
  const moved = pairs.flatMap(([name, value]) => {
    const placeholder = /^\{([^{}]+)\}$/.exec(value)?.[1];
    return placeholder === undefined ? [] : [[placeholder, name] as const];
  });
  const constants = pairs.filter(([, value]) => value !== '' && !/[{}]/.test(value));
  const labels = [query, label]
    .filter((text) => text !== '')
    .map((text) => text.replaceAll('#', ' '));
  return {
    key: labels.length === 0 ? sent : `${sent}#${labels.join('&')}`,
    sent,
    query: Object.fromEntries(constants),
    label: Object.fromEntries(pairsOf(label)),
    moved: Object.fromEntries(moved),
  };
}

export function placeholdersOf(path: string): string[] {
  return [...new Set([...path.matchAll(/\{([^{}]+)\}/g)].map((match) => match[1] ?? ''))];
}

/** `/issues/{id}` and `/issues/{number}` are one path (OpenAPI §4.8.8.1). */
export function shapeOf(key: string): string {
  return key.replaceAll(/\{[^{}]*\}/g, '{}');
}

/** A parameter that has one value only: sent always, and nobody is asked for it. */
export function constantParameter(name: string, value: string): Parameter {
  return { name, in: 'query', required: true, schema: { type: 'string', const: value } };
}

function pairsOf(text: string): [string, string][] {
  return text
    .split('&')
    .filter((pair) => pair.includes('='))
    .map((pair) => splitAt(pair, '='));
}

function splitAt(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
