import type { JsonValue } from '#contracts/vocabulary';

interface ConditionTerm {
  readonly path: readonly string[];
  readonly comparison?: {
    readonly isEqual: boolean;
    readonly with: string | number | boolean | null;
  };
}

/** A jq condition that is simple enough to be evaluated without jq. */
export interface PlainCondition {
  readonly terms: readonly ConditionTerm[];
  readonly joined: 'and' | 'or';
}

const namePattern = '[A-Za-z_][A-Za-z0-9_]*';
const literalPattern = String.raw`true|false|null|-?(?:0|[1-9]\d{0,8})|"[^"\\\u0000-\u001f]*"`;
const termPattern = new RegExp(
  String.raw`^((?:\.${namePattern})+)(?:\s*(==|!=)\s*(${literalPattern}))?$`,
);
const charactersMax = 300;

/**
 * Parses `.ok == false`, `.errors`, `.error.code != 0`, and several of them joined by `or` or by
 * `and`. Undefined for any other filter, which jq must run.
 */
export function parsePlainCondition(filter: string): PlainCondition | undefined {
  // A quoted text in a plain condition never contains ` or ` or ` and `, so the text can be split
  // there.
  if (filter.length > charactersMax) return undefined;
  const joined = / or /.test(filter) ? 'or' : 'and';
  const terms: ConditionTerm[] = [];
  for (const text of filter.split(` ${joined} `)) {
    const [, path, operator, value] = termPattern.exec(text.trim()) ?? [];
    if (path === undefined) return undefined;
    terms.push({
      path: path.slice(1).split('.'),
      ...(operator === undefined || value === undefined
        ? {}
        : { comparison: { isEqual: operator === '==', with: JSON.parse(value) } }),
    });
  }
  return { terms, joined };
}

/**
 * Whether the condition is true, as jq would decide: every value except false and null counts as
 * true. Undefined where jq reports an error, such as for a member of a list.
 */
export function holdsPlainCondition(
  { terms, joined }: PlainCondition,
  value: JsonValue,
): boolean | undefined {
  for (const term of terms) {
    const isTermTrue = holdsTerm(term, value);
    if (isTermTrue === undefined) return undefined;
    if (isTermTrue === (joined === 'or')) return isTermTrue;
  }
  return joined === 'and';
}

function holdsTerm(
  { path, comparison: compared }: ConditionTerm,
  value: JsonValue,
): boolean | undefined {
  const foundValue = valueAt(path, value);
  if (foundValue === undefined) return undefined;
  if (compared === undefined) return foundValue !== null && foundValue !== false;
  // Lists and objects are never equal to a literal.
  return (foundValue === compared.with) === compared.isEqual;
}

/** The value at a path, or null if there is no value. Undefined where jq reports an error. */
export function valueAt(path: readonly string[], value: JsonValue): JsonValue | undefined {
  let foundValue: JsonValue = value;
  for (const member of path) {
    if (foundValue === null) return null;
    if (typeof foundValue !== 'object' || Array.isArray(foundValue)) return undefined;
    foundValue = Object.hasOwn(foundValue, member) ? (foundValue[member] ?? null) : null;
  }
  return foundValue;
}
