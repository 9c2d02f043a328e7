import type { DerivedKey } from '#contracts/permit';
import {
  compileArgument,
  encodeAsterisks,
  hasWildcard,
  literalEndsOf,
  matchesText,
  overlaps,
  splitKey,
  wholeAction,
  withoutOuterSlashes,
  writtenHostOf,
} from '#permission-key';
import type { GlobBudget, Pattern } from '#permission-key';
import { normaliseText } from '#templates';
import { normaliseIdentifiers } from './combine-arguments.ts';
import { foldText } from './folding.ts';
import type { Folded } from './folding.ts';
import { hyphenatedUuidIn, identifierIn, leadingNumberIn } from './identifiers.ts';

/**
 * A name under which a deny rule may match a call. A segment that is absent or cannot be derived is
 * unknown. A deny rule matches an unknown segment if it could match any value of the segment.
 */
export interface DenyName {
  /** The service; undefined means any connected service. */
  readonly service: string | undefined;
  readonly action: string | UnknownAction;
  /**
   * The arguments that the call's value contains. A deny rule matches if it matches any of them. A
   * `*` in an argument is a position with an unknown value, because values encode it. Undefined means
   * that the arguments are unknown.
   */
  readonly args: readonly string[] | undefined;
  /**
   * If set, the name counts only for rules that write out the host, or that write out the
   * credential or its host.
   */
  readonly needs?: 'host' | 'credential';
}

/** An action that is not known exactly: one of several. */
export interface UnknownAction {
  /** The actions of the template that this may be. */
  readonly among: ReadonlySet<string>;
  /**
   * The template's other actions, which this cannot be. If set, this may also be an action that the
   * template does not list; if undefined, it must be one of `among`.
   */
  readonly notAmong?: ReadonlySet<string>;
}

/**
 * Whether the pattern of a deny rule matches a permission key of the call. Differences such as
 * letter case do not count (see `Folded`).
 */
export function deniesKey(pattern: Pattern, key: DerivedKey, budget?: GlobBudget): boolean {
  return (
    matchesName(pattern.service, key.service) &&
    matchesAction(pattern, key.service, key.action) &&
    deniesAnyArgument(pattern, argumentsOfKey(key), budget)
  );
}

/**
 * The arguments of each permission key, computed once, because every rule is compared with them.
 */
const argumentsByKey = new WeakMap<DerivedKey, readonly string[]>();

function argumentsOfKey(key: DerivedKey): readonly string[] {
  let args = argumentsByKey.get(key);
  if (args === undefined) {
    args = key.service === 'http' ? addressReadingsOf(key.arg) : [key.arg];
    argumentsByKey.set(key, args);
  }
  return args;
}

/**
 * The address as written, and as servers may read it: without empty segments and path parameters,
 * decoded twice, or with `01` as `1`.
 */
export function addressReadingsOf(address: string): string[] {
  const decodedAddresses = /%25[0-9A-F]{2}/i.test(address) ? [decodeTwice(address)] : [];
  return [address, ...decodedAddresses].flatMap((each) => {
    const plainName = each
      .replaceAll(/(?:;|%3B)[^/]*/gi, '')
      .replaceAll(/\/{2,}/g, '/')
      .replace(/(?<=[^/])\/$/, '');
    const readings = plainName === each ? [each] : [each, plainName, `${plainName}/`];
    return [...readings, ...similarSpellingsOf(plainName)];
  });
}

/** Other spellings of the address, in which the identifiers of its path have their usual form. */
function similarSpellingsOf(address: string): string[] {
  const [host = '', ...segments] = address.split('/');
  const spellings = [identifierIn, leadingNumberIn, hyphenatedUuidIn].map((spellIdentifier) =>
    [host, ...segments.map((each) => spellIdentifier(each.toLowerCase()) ?? each)].join('/'),
  );
  return [...new Set(spellings)].filter((each) => each !== address);
}

function decodeTwice(address: string): string {
  const slashIndex = address.indexOf('/');
  const path = address.slice(slashIndex).replaceAll(/%25(?=[0-9A-Fa-f]{2})/g, '%');
  const normalPath = normaliseText(path, /[!$&'()+,;=:@/]/).replaceAll(/%(?:2F|5C)/g, '/');
  // `URL` resolves the segments `.` and `..`.
  return (
    address.slice(0, slashIndex) + (URL.parse(`http://host${normalPath}`)?.pathname ?? normalPath)
  );
}

/** Whether the pattern could match the call under this name. */
export function couldDeny(pattern: Pattern, name: DenyName, budget?: GlobBudget): boolean {
  const { service, action, args, needs } = name;
  if (service === undefined) return pattern.service === null || !isReservedService(pattern.service);
  if (!matchesName(pattern.service, service)) return false;
  if (!couldMatchAction(pattern, service, action)) return false;
  if (needs === 'host' && hostOf(pattern) === undefined) return false;
  if (needs === 'credential' && !namesCredential(pattern)) return false;
  return args === undefined || deniesAnyArgument(pattern, args, budget);
}

/**
 * Whether the pattern could match the `http` permission key of a request to this path, in which
 * `{…}` stands for any text.
 */
export function couldDenyAddress(
  pattern: Pattern,
  { method, host, path }: { method: string; host: string; path: string },
): boolean {
  const deniedHost = hostOf(pattern);
  if (deniedHost === undefined || foldText(deniedHost).bare !== host) return false;
  if (!matchesName(pattern.service, 'http') || !matchesAction(pattern, 'http', method))
    return false;
  const arg = splitKey(pattern.text)?.arg ?? '';
  return couldBeSameAddress(foldText(arg.slice(deniedHost.length)).bare, foldText(path).bare);
}

/** Compares only the fixed beginnings and ends, because a placeholder may stand for any text between them. */
function couldBeSameAddress(pattern: string, path: string): boolean {
  const { head, tail } = literalEndsOf(pattern);
  const [from, to] = [path.search(/\{/), path.lastIndexOf('}')];
  if (!hasWildcard(pattern) && from < 0) return pattern === path;
  const startsAlike = (one: string, other: string) =>
    one.startsWith(other) || other.startsWith(one);
  const endsAlike = (one: string, other: string) => one.endsWith(other) || other.endsWith(one);
  return (
    startsAlike(head, from < 0 ? path : path.slice(0, from)) && endsAlike(tail, path.slice(to + 1))
  );
}

/**
 * Whether the pattern could match an action of this service. If not, the template of the service
 * need not be loaded.
 */
export function concernsService(pattern: Pattern, service: string): boolean {
  return matchesName(pattern.service, service);
}

/** `concernsService` for several patterns at once. */
export function createServiceTest(patterns: readonly Pattern[]): (service: string) => boolean {
  const services = new Set(patterns.map(({ service }) => service));
  return (service) => services.has(null) || services.has(service);
}

/**
 * Whether the name is reserved: `platform` has no host, and the other reserved names are no
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
 * Whether the pattern names a credential or its host: `secret:name:*` and `secret:*:host` do,
 * `secret:*:*` does not.
 */
function namesCredential({ service, action, arg }: Pattern): boolean {
  return service !== null && (action !== null || typeof arg === 'string');
}

function couldMatchAction(pattern: Pattern, service: string, action: DenyName['action']): boolean {
  if (typeof action === 'string') return matchesAction(pattern, service, action);
  if (pattern.action === null || action.among.has(pattern.action)) return true;
  return action.notAmong !== undefined && !action.notAmong.has(pattern.action);
}

/** Whether the pattern's action matches. A deny of GET also matches HEAD, which reveals the same resource. */
function matchesAction(pattern: Pattern, service: string, action: string): boolean {
  if (matchesName(pattern.action, action)) return true;
  return service === 'http' && action === 'HEAD' && pattern.action === 'GET';
}

function matchesName(pattern: string | null, name: string): boolean {
  return pattern === null || pattern === name;
}

interface DenyArgument {
  readonly cased: Pattern['arg'];
  readonly bare: Pattern['arg'];
  /** The pattern without the slashes at its ends; undefined when it has none at its ends. */
  readonly inner: Pattern['arg'] | undefined;
  readonly identifier: string | undefined;
  /**
   * The pattern with the ids of its positions in one fixed form; undefined when it has that form
   * already.
   */
  readonly positional: Pattern['arg'] | undefined;
  /** The forms above as texts, which are compared with arguments that have an unknown position. */
  readonly texts: readonly string[];
}

/** Computed once for each pattern, because walks compare many patterns with many arguments. */
const denyArguments = new WeakMap<Pattern, DenyArgument>();
const foldedByArgs = new WeakMap<readonly string[], readonly Folded[]>();

function deniesAnyArgument(
  pattern: Pattern,
  args: readonly string[],
  budget: GlobBudget | undefined,
): boolean {
  if (pattern.arg === null) return true;
  const { cased, bare, inner, identifier, positional, texts } = argumentOf(pattern);
  let foldedList = foldedByArgs.get(args);
  if (foldedList === undefined) foldedByArgs.set(args, (foldedList = args.map(foldText)));
  if (budget !== undefined) budget.left -= 2 * foldedList.length;
  return foldedList.some((each) =>
    hasUnknownPosition(each.cased)
      ? texts.some(
          (text) => overlaps(text, each.cased, budget) || overlaps(text, each.bare, budget),
        )
      : (identifier !== undefined &&
          (identifier === each.identifier || identifier === each.leadingNumber)) ||
        matchesArgText(cased, each.cased, budget) ||
        ((bare !== cased || each.bare !== each.cased) && matchesArgText(bare, each.bare, budget)) ||
        (inner !== undefined && matchesArgText(inner, each.bare, budget)) ||
        (positional !== undefined && matchesArgText(positional, each.bare, budget)),
  );
}

/** The argument `*` of a whole action's key stands for no position. */
function hasUnknownPosition(arg: string): boolean {
  return hasWildcard(arg) && arg !== wholeAction;
}

/**
 * Prepares a pattern for comparing (see `Folded`), because doing that for a long pattern takes a
 * while and should not delay the first call.
 */
export function foldPattern(pattern: Pattern): void {
  argumentOf(pattern);
}

function argumentOf(pattern: Pattern): DenyArgument {
  let knownArguments = denyArguments.get(pattern);
  if (knownArguments !== undefined) return knownArguments;
  const arg = splitKey(pattern.text)?.arg ?? '';
  // The forms of most patterns are equal and share one compiled pattern.
  const compilePattern = (text: string) => (pattern.exact ? text : compileArgument(text));
  const foldedArg = foldText(arg);
  const casedPattern = foldedArg.cased === arg ? pattern.arg : compilePattern(foldedArg.cased);
  const bare = foldedArg.bare === foldedArg.cased ? casedPattern : compilePattern(foldedArg.bare);
  const innerText = withoutOuterSlashes(foldedArg.bare);
  const innerPattern = innerText === foldedArg.bare ? undefined : compilePattern(innerText);
  const positionalText = foldedArg.bare.includes('/')
    ? normaliseIdentifiers(foldedArg.bare)
    : foldedArg.bare;
  knownArguments = {
    cased: casedPattern,
    bare,
    inner: innerPattern,
    identifier: foldedArg.identifier,
    positional: positionalText === foldedArg.bare ? undefined : compilePattern(positionalText),
    texts: [...new Set([foldedArg.cased, foldedArg.bare, innerText, positionalText])].map((text) =>
      pattern.exact ? encodeAsterisks(text) : text,
    ),
  };
  denyArguments.set(pattern, knownArguments);
  return knownArguments;
}

function matchesArgText(
  pattern: Pattern['arg'],
  text: string,
  budget: GlobBudget | undefined,
): boolean {
  if (pattern === null) return true;
  return typeof pattern === 'string' ? pattern === text : matchesText(pattern, text, budget);
}
