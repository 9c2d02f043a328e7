import type { DerivedKey } from '#contracts/permit';
import { compileGlob, coversPattern, matchesText } from './glob.ts';
import type { Glob, GlobBudget } from './glob.ts';
import { splitKey } from './keys.ts';
import { anyMethod, anyName, hasWildcard, isAnyArgument } from './wildcards.ts';

/** A rule's pattern, compiled for comparison (docs/reference/permissions.md#patterns). */
export interface Pattern {
  readonly text: string;
  /**
   * True for a rule that was stored from an exact suggestion: the pattern is compared byte for
   * byte, and a `*` in it is not a wildcard.
   */
  readonly exact: boolean;
  readonly service: NamePattern;
  readonly action: NamePattern;
  /** The compiled `arg`; null matches any argument. */
  readonly arg: string | Glob | null;
}

/** The service or action of a pattern: literal text, or null for a lone `*`. */
type NamePattern = string | null;

/**
 * A pattern without three segments can only come from a damaged database row; it matches nothing.
 */
const emptyPattern = { service: '', action: '', arg: '' };

export function compilePattern(text: string, exact: boolean): Pattern {
  const { service, action, arg } = splitKey(text) ?? emptyPattern;
  if (exact) return { text, exact, service, action, arg };
  const isAnyMethod = service === 'http' && action === anyMethod;
  return {
    text,
    exact,
    service: service === anyName ? null : service,
    action: action === anyName || isAnyMethod ? null : action,
    arg: compileArgument(arg),
  };
}

/** A lone `*` or `**` matches any argument; text without a wildcard is a literal. */
export function compileArgument(arg: string): Pattern['arg'] {
  if (isAnyArgument(arg)) return null;
  return hasWildcard(arg) ? compileGlob(arg) : arg;
}

export function matchesKey(pattern: Pattern, key: DerivedKey, budget?: GlobBudget): boolean {
  if (pattern.exact) return pattern.text === key.key;
  return (
    matchesName(pattern.service, key.service) &&
    matchesName(pattern.action, key.action) &&
    matchesArgument(pattern.arg, key.arg, budget)
  );
}

/**
 * Whether the pattern matches every key that the other pattern matches. In doubt the answer is no.
 */
export function coversAllOf(pattern: Pattern, otherPattern: Pattern, budget?: GlobBudget): boolean {
  if (pattern.exact || otherPattern.exact) {
    const key = { key: otherPattern.text, ...(splitKey(otherPattern.text) ?? emptyPattern) };
    return otherPattern.exact ? matchesKey(pattern, key, budget) : false;
  }
  if (!coversName(pattern.service, otherPattern.service)) return false;
  if (!coversName(pattern.action, otherPattern.action)) return false;
  if (pattern.arg === null) return true;
  if (otherPattern.arg === null)
    return typeof pattern.arg !== 'string' && coversPattern(pattern.arg, '**', budget);
  if (typeof otherPattern.arg === 'string')
    return matchesArgument(pattern.arg, otherPattern.arg, budget);
  const arg = splitKey(otherPattern.text)?.arg ?? '';
  return typeof pattern.arg !== 'string' && coversPattern(pattern.arg, arg, budget);
}

function matchesName(pattern: NamePattern, name: string): boolean {
  return pattern === null || pattern === name;
}

function coversName(pattern: NamePattern, otherPattern: NamePattern): boolean {
  return pattern === null || pattern === otherPattern;
}

function matchesArgument(
  pattern: Pattern['arg'],
  arg: string,
  budget: GlobBudget | undefined,
): boolean {
  if (pattern === null) return true;
  return typeof pattern === 'string' ? pattern === arg : matchesText(pattern, arg, budget);
}
