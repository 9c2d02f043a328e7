import type { DerivedKey } from '#contracts/permit';
import { compileGlob, coversPattern, matchesText } from './glob.ts';
import type { Glob, GlobBudget } from './glob.ts';
import { splitKey } from './keys.ts';

/** A rule's pattern, ready to be compared (docs/reference/permissions.md#patterns). */
export interface Pattern {
  readonly text: string;
  /** Planted from an exact tier: compared byte for byte, a `*` in it is no wildcard. */
  readonly exact: boolean;
  readonly service: NamePattern;
  readonly action: NamePattern;
  /** Null: any. */
  readonly arg: string | Glob | null;
}

/** A literal, or null for a lone `*`. */
type NamePattern = string | null;

/** A pattern that is not of three segments matches nothing: it can only come from a damaged row. */
const nothing = { service: '', action: '', arg: '' };

export function compilePattern(text: string, exact: boolean): Pattern {
  const { service, action, arg } = splitKey(text) ?? nothing;
  if (exact) return { text, exact, service, action, arg };
  const anyVerb = service === 'http' && action === 'ANY';
  return {
    text,
    exact,
    service: service === '*' ? null : service,
    action: action === '*' || anyVerb ? null : action,
    arg: compileArgument(arg),
  };
}

/** `*` and `**` alone are any argument, what has no wildcard is a literal. */
export function compileArgument(arg: string): Pattern['arg'] {
  if (arg === '*' || arg === '**') return null;
  return arg.includes('*') ? compileGlob(arg) : arg;
}

export function matchesKey(pattern: Pattern, key: DerivedKey, budget?: GlobBudget): boolean {
  if (pattern.exact) return pattern.text === key.key;
  return (
    matchesName(pattern.service, key.service) &&
    matchesName(pattern.action, key.action) &&
    matchesArgument(pattern.arg, key.arg, budget)
  );
}

/** Does the pattern match every key that the other pattern matches? Errs on the side of no. */
export function coversAllOf(pattern: Pattern, other: Pattern, budget?: GlobBudget): boolean {
  if (pattern.exact || other.exact) {
    const key = { key: other.text, ...(splitKey(other.text) ?? nothing) };
    return other.exact ? matchesKey(pattern, key, budget) : false;
  }
  if (!coversName(pattern.service, other.service)) return false;
  if (!coversName(pattern.action, other.action)) return false;
  if (pattern.arg === null) return true;
  if (other.arg === null)
    return typeof pattern.arg !== 'string' && coversPattern(pattern.arg, '**', budget);
  if (typeof other.arg === 'string') return matchesArgument(pattern.arg, other.arg, budget);
  const arg = splitKey(other.text)?.arg ?? '';
  return typeof pattern.arg !== 'string' && coversPattern(pattern.arg, arg, budget);
}

function matchesName(pattern: NamePattern, name: string): boolean {
  return pattern === null || pattern === name;
}

function coversName(pattern: NamePattern, other: NamePattern): boolean {
  return pattern === null || pattern === other;
}

function matchesArgument(
  pattern: Pattern['arg'],
  arg: string,
  budget: GlobBudget | undefined,
): boolean {
  if (pattern === null) return true;
  return typeof pattern === 'string' ? pattern === arg : matchesText(pattern, arg, budget);
}
