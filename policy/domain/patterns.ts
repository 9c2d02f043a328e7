import type { DerivedKey } from '#contracts/permit';
import { compileGlob, coversPattern, matchesText } from './glob.ts';
import type { Glob } from './glob.ts';
import { splitKey } from './keys.ts';

/** A rule's pattern, ready to be compared (decisions: Patterns). */
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

function compileArgument(arg: string): Pattern['arg'] {
  if (arg === '*' || arg === '**') return null;
  return arg.includes('*') ? compileGlob(arg) : arg;
}

export function matchesKey(pattern: Pattern, key: DerivedKey): boolean {
  if (pattern.exact) return pattern.text === key.key;
  return (
    matchesName(pattern.service, key.service) &&
    matchesName(pattern.action, key.action) &&
    matchesArgument(pattern.arg, key.arg)
  );
}

/** Does the pattern match every key that the other pattern matches? Errs on the side of no. */
export function coversAllOf(pattern: Pattern, other: Pattern): boolean {
  if (pattern.exact || other.exact) {
    const key = { key: other.text, ...(splitKey(other.text) ?? nothing) };
    return other.exact ? matchesKey(pattern, key) : false;
  }
  if (!coversName(pattern.service, other.service)) return false;
  if (!coversName(pattern.action, other.action)) return false;
  if (pattern.arg === null) return true;
  if (other.arg === null)
    return typeof pattern.arg !== 'string' && coversPattern(pattern.arg, '**');
  if (typeof other.arg === 'string') return matchesArgument(pattern.arg, other.arg);
  const arg = splitKey(other.text)?.arg ?? '';
  return typeof pattern.arg !== 'string' && coversPattern(pattern.arg, arg);
}

/**
 * A name under which a deny rule may match a call. An absent segment, or one that cannot be
 * derived, is unknown, and a deny matches it if it could match any value (decisions: The walk, 1).
 */
export interface DenyName {
  readonly service: string;
  readonly action: string | UnknownAction;
  /** Undefined: unknown. */
  readonly arg: string | undefined;
}

/** An operation that the template does not list: it may be one of those with its method by another path. */
export interface UnknownAction {
  /** Actions that it could be. */
  readonly among: readonly string[];
  /** Actions that it cannot be: the template's others. */
  readonly notAmong: readonly string[];
}

export function couldMatch(pattern: Pattern, name: DenyName): boolean {
  if (!matchesName(pattern.service, name.service)) return false;
  if (!couldBeAction(pattern.action, name.action)) return false;
  return name.arg === undefined || matchesArgument(pattern.arg, name.arg);
}

/** Could a deny rule match something under this service? Decides whose templates are worth loading. */
export function concernsService(pattern: Pattern, service: string): boolean {
  return matchesName(pattern.service, service);
}

function couldBeAction(pattern: NamePattern, action: DenyName['action']): boolean {
  if (typeof action === 'string') return matchesName(pattern, action);
  if (pattern === null || action.among.includes(pattern)) return true;
  return !action.notAmong.includes(pattern);
}

function matchesName(pattern: NamePattern, name: string): boolean {
  return pattern === null || pattern === name;
}

function coversName(pattern: NamePattern, other: NamePattern): boolean {
  return pattern === null || pattern === other;
}

function matchesArgument(pattern: Pattern['arg'], arg: string): boolean {
  if (pattern === null) return true;
  return typeof pattern === 'string' ? pattern === arg : matchesText(pattern, arg);
}
