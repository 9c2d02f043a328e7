import type { DerivedKey } from '#contracts/permit';
import {
  compileArgument,
  compileGlob,
  encodeAsterisks,
  hasWildcard,
  matchesText,
  overlapsPattern,
  splitKey,
  wholeAction,
  writtenHostOf,
} from '#permission-key';
import type { Glob, GlobBudget, Pattern } from '#permission-key';
import {
  addressArguments,
  argumentsOfKeys,
  foldArgument,
  foldedFormsOf,
} from './deny-arguments.ts';

/** A name under which a deny rule may match a call. An undefined part is unknown. */
export interface DenyName {
  /** The service; undefined means any connected service. */
  readonly service: string | undefined;
  /** The action; undefined means any action of the service. */
  readonly action: string | undefined;
  /**
   * The arguments of the call. A deny rule matches if it matches any of them. A `*` or `**` stands
   * for unknown text; it cannot come from a value, because values encode asterisks. Undefined means
   * any argument.
   */
  readonly args: readonly string[] | undefined;
  /**
   * If set, only rules that write out the host (for `credential`: the credential or its host) match
   * the name.
   */
  readonly needs?: 'host' | 'credential';
}

/** Whether the pattern of a deny rule matches a permission key of the call. */
export function deniesKey(pattern: Pattern, key: DerivedKey, budget?: GlobBudget): boolean {
  return (
    matchesName(pattern.service, key.service) &&
    matchesAction(pattern, key.service, key.action) &&
    deniesAnyArgument(pattern, argumentsOfKey(key), budget)
  );
}

/** The arguments of each permission key, computed once, because every rule is compared with them. */
const argumentsByKey = new WeakMap<DerivedKey, readonly string[]>();

function argumentsOfKey(key: DerivedKey): readonly string[] {
  let args = argumentsByKey.get(key);
  if (args === undefined) {
    args =
      key.service === 'http' ? addressArguments(key.arg) : (argumentsOfKeys([key]) ?? [key.arg]);
    argumentsByKey.set(key, args);
  }
  return args;
}

/** Whether the pattern could match the call under this name. */
export function couldDeny(pattern: Pattern, name: DenyName, budget?: GlobBudget): boolean {
  const { service, action, args, needs } = name;
  if (service === undefined) return pattern.service === null || !isReservedService(pattern.service);
  if (!matchesName(pattern.service, service)) return false;
  if (action !== undefined && !matchesAction(pattern, service, action)) return false;
  if (needs === 'host' && hostOf(pattern) === undefined) return false;
  if (needs === 'credential' && !namesCredential(pattern)) return false;
  return args === undefined || deniesAnyArgument(pattern, args, budget);
}

/** Whether one of the patterns could match an action of a service. */
export function createServiceTest(patterns: readonly Pattern[]): (service: string) => boolean {
  const services = new Set(patterns.map(({ service }) => service));
  return (service) => services.has(null) || services.has(service);
}

/**
 * Whether the name is reserved. `platform` has no host, and the other reserved names are not
 * services.
 */
function isReservedService(service: string): boolean {
  return ['http', 'secret', 'connection', 'platform'].includes(service);
}

/**
 * The host of a pattern such as `http:GET:api.example.com/**`; undefined if the host contains a
 * wildcard.
 */
export function hostOf({ text }: Pattern): string | undefined {
  return writtenHostOf(splitKey(text)?.arg ?? '');
}

/**
 * Whether the pattern names a credential or its host. `secret:name:*` and `secret:*:host` do;
 * `secret:*:*` does not.
 */
function namesCredential({ service, action, arg }: Pattern): boolean {
  return service !== null && (action !== null || typeof arg === 'string');
}

/**
 * Whether the pattern's action matches. A deny rule for GET also matches HEAD, which reveals the
 * same resource.
 */
function matchesAction(pattern: Pattern, service: string, action: string): boolean {
  if (matchesName(pattern.action, action)) return true;
  return service === 'http' && action === 'HEAD' && pattern.action === 'GET';
}

function matchesName(pattern: string | null, name: string): boolean {
  return pattern === null || pattern === name;
}

interface FoldedPattern {
  readonly text: string;
  readonly matcher: Pattern['arg'];
  /**
   * Compares the pattern with arguments that are unknown in part. Compiled when it is first needed.
   */
  glob: Glob | undefined;
}

/**
 * Computed once for each pattern, because the permission walk compares many patterns with many
 * arguments.
 */
const foldedPatterns = new WeakMap<Pattern, FoldedPattern>();
const foldedArguments = new WeakMap<readonly string[], readonly string[]>();

/**
 * Prepares a pattern for comparing. This is slow for a long pattern and should not delay the first
 * call.
 */
export function foldPattern(pattern: Pattern): void {
  foldedPatternOf(pattern);
}

function foldedPatternOf(pattern: Pattern): FoldedPattern {
  let folded = foldedPatterns.get(pattern);
  if (folded !== undefined) return folded;
  const arg = splitKey(pattern.text)?.arg ?? '';
  const text = foldArgument(arg);
  // Most patterns do not change by folding, so the compiled pattern can be reused.
  const compiledPattern = text === arg ? pattern.arg : compileArgument(text);
  folded = pattern.exact
    ? { text: encodeAsterisks(text), matcher: text, glob: undefined }
    : { text, matcher: compiledPattern, glob: undefined };
  foldedPatterns.set(pattern, folded);
  return folded;
}

function deniesAnyArgument(
  pattern: Pattern,
  args: readonly string[],
  budget: GlobBudget | undefined,
): boolean {
  if (pattern.arg === null) return true;
  const foldedPattern = foldedPatternOf(pattern);
  let foldedArgs = foldedArguments.get(args);
  if (foldedArgs === undefined) {
    foldedArgs = [...new Set(args.flatMap(foldedFormsOf))];
    foldedArguments.set(args, foldedArgs);
  }
  if (budget !== undefined) budget.left -= foldedArgs.length;
  return foldedArgs.some((each) =>
    isPartlyUnknown(each)
      ? overlapsPattern((foldedPattern.glob ??= compileGlob(foldedPattern.text)), each, budget)
      : matchesArgument(foldedPattern.matcher, each, budget),
  );
}

/** The argument `*` in the key of a whole action does not stand for a position. */
function isPartlyUnknown(arg: string): boolean {
  return hasWildcard(arg) && arg !== wholeAction;
}

function matchesArgument(
  matcher: Pattern['arg'],
  text: string,
  budget: GlobBudget | undefined,
): boolean {
  if (matcher === null) return true;
  return typeof matcher === 'string' ? matcher === text : matchesText(matcher, text, budget);
}
