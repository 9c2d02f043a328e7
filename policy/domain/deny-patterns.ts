import type { DerivedKey } from '#contracts/permit';
import { compileArgument, matchesText, splitKey } from '#permission-key';
import type { GlobBudget, Pattern } from '#permission-key';
import { normaliseText } from '#templates';
import { fold } from './folding.ts';
import type { Folded } from './folding.ts';
import { hyphenatedUuidIn, identifierIn, leadingNumberIn } from './identifiers.ts';

/**
 * A name under which a deny rule may match a call. A segment that is absent, or cannot be
 * derived, is unknown, and a deny matches it if it could match any value.
 */
export interface DenyName {
  /** Undefined: any connected service. */
  readonly service: string | undefined;
  readonly action: string | UnknownAction;
  /** A value may hold several: a deny of any of them matches. Undefined: unknown. */
  readonly args: readonly string[] | undefined;
  /** Matched only by a rule that writes the host out, or names the credential or its host. */
  readonly needs?: 'host' | 'credential';
}

/** One of several operations, of which nobody knows which. */
export interface UnknownAction {
  /** Actions that it could be. */
  readonly among: ReadonlySet<string>;
  /**
   * Actions that it cannot be: the template's others. It may also be one that the template does not list, by
   * another path. Undefined: it is one of `among`.
   */
  readonly notAmong?: ReadonlySet<string>;
}

/** Does the pattern of a deny rule match a key of the call, both folded? */
export function deniesKey(pattern: Pattern, key: DerivedKey, budget?: GlobBudget): boolean {
  return (
    isName(pattern.service, key.service) &&
    isAction(pattern, key.service, key.action) &&
    deniesAny(pattern, argumentsOfKey(key), budget)
  );
}

/** Found once for each key, which every rule is compared with. */
const keyArgs = new WeakMap<DerivedKey, readonly string[]>();

function argumentsOfKey(key: DerivedKey): readonly string[] {
  let args = keyArgs.get(key);
  if (args === undefined) {
    args = key.service === 'http' ? addressReadings(key.arg) : [key.arg];
    keyArgs.set(key, args);
  }
  return args;
}

/**
 * An address as it is written, and as servers read it that overlook empty segments and path parameters,
 * decode twice, or take `01` for `1`.
 */
export function addressReadings(address: string): string[] {
  const decoded = /%25[0-9A-F]{2}/i.test(address) ? [decodedTwice(address)] : [];
  return [address, ...decoded].flatMap((each) => {
    const plain = each
      .replaceAll(/(?:;|%3B)[^/]*/gi, '')
      .replaceAll(/\/{2,}/g, '/')
      .replace(/(?<=[^/])\/$/, '');
    const readings = plain === each ? [each] : [each, plain, `${plain}/`];
    return [...readings, ...spelledAlike(plain)];
  });
}

/** The same with the identifiers in its path spelled as rules mostly have them; none where they are. */
function spelledAlike(address: string): string[] {
  const [host = '', ...segments] = address.split('/');
  const spellings = [identifierIn, leadingNumberIn, hyphenatedUuidIn].map((spell) =>
    [host, ...segments.map((each) => spell(each.toLowerCase()) ?? each)].join('/'),
  );
  return [...new Set(spellings)].filter((each) => each !== address);
}

function decodedTwice(address: string): string {
  const at = address.indexOf('/');
  const path = address.slice(at).replaceAll(/%25(?=[0-9A-Fa-f]{2})/g, '%');
  const normal = normaliseText(path, /[!$&'()+,;=:@/]/).replaceAll(/%(?:2F|5C)/g, '/');
  // Resolves dot segments.
  return address.slice(0, at) + (URL.parse(`http://host${normal}`)?.pathname ?? normal);
}

/** Could it match the call by this name? */
export function couldDeny(pattern: Pattern, name: DenyName, budget?: GlobBudget): boolean {
  const { service, action, args, needs } = name;
  if (service === undefined) return pattern.service === null || !isReserved(pattern.service);
  if (!isName(pattern.service, service)) return false;
  if (!couldBeAction(pattern, service, action)) return false;
  if (needs === 'host' && hostOf(pattern) === undefined) return false;
  if (needs === 'credential' && !namesCredential(pattern)) return false;
  return args === undefined || deniesAny(pattern, args, budget);
}

/** Could it match the `http` key of a request below this path, in which `{…}` stands for any text? */
export function couldDenyAddress(
  pattern: Pattern,
  { method, host, path }: { method: string; host: string; path: string },
): boolean {
  const denied = hostOf(pattern);
  if (denied === undefined || fold(denied).bare !== host) return false;
  if (!isName(pattern.service, 'http') || !isAction(pattern, 'http', method)) return false;
  const arg = splitKey(pattern.text)?.arg ?? '';
  return couldBeSame(fold(arg.slice(denied.length)).bare, fold(path).bare);
}

/** By what is fixed at both ends: a text with a gap in it could be another one that begins and ends alike. */
function couldBeSame(pattern: string, path: string): boolean {
  const [start, end] = [pattern.search(/\*/), pattern.lastIndexOf('*')];
  const [from, to] = [path.search(/\{/), path.lastIndexOf('}')];
  if (start < 0 && from < 0) return pattern === path;
  const isAlike = (one: string, other: string) => one.startsWith(other) || other.startsWith(one);
  const isAlikeAtEnd = (one: string, other: string) => one.endsWith(other) || other.endsWith(one);
  const head = (text: string, at: number) => (at < 0 ? text : text.slice(0, at));
  return (
    isAlike(head(pattern, start), head(path, from)) &&
    isAlikeAtEnd(pattern.slice(end + 1), path.slice(to + 1))
  );
}

/** Could a deny rule match something under this service? Decides whose templates are worth loading. */
export function concernsService(pattern: Pattern, service: string): boolean {
  return isName(pattern.service, service);
}

/** The same for any of several rules. */
export function serviceTest(patterns: readonly Pattern[]): (service: string) => boolean {
  const services = new Set(patterns.map(({ service }) => service));
  return (service) => services.has(null) || services.has(service);
}

/** Calls of the platform are made to nobody's host, and the others are no services. */
function isReserved(service: string): boolean {
  return ['http', 'secret', 'connection', 'platform'].includes(service);
}

/** The host of a pattern such as `http:GET:api.example.com/**`; undefined where a wildcard is part of it. */
export function hostOf({ text }: Pattern): string | undefined {
  const [, host] = /^([^/*]+)\//.exec(splitKey(text)?.arg ?? '') ?? [];
  return host;
}

/** `secret:name:*` and `secret:*:host`, not `secret:*:*`. */
function namesCredential({ service, action, arg }: Pattern): boolean {
  return service !== null && (action !== null || typeof arg === 'string');
}

function couldBeAction(pattern: Pattern, service: string, action: DenyName['action']): boolean {
  if (typeof action === 'string') return isAction(pattern, service, action);
  if (pattern.action === null || action.among.has(pattern.action)) return true;
  return action.notAmong !== undefined && !action.notAmong.has(pattern.action);
}

/** A HEAD is answered by what answers GET, so that it tells what a GET may not. */
function isAction(pattern: Pattern, service: string, action: string): boolean {
  if (isName(pattern.action, action)) return true;
  return service === 'http' && action === 'HEAD' && pattern.action === 'GET';
}

function isName(pattern: string | null, name: string): boolean {
  return pattern === null || pattern === name;
}

interface DenyArgument {
  readonly cased: Pattern['arg'];
  readonly bare: Pattern['arg'];
  /** Without slashes at its ends; undefined where it has none. */
  readonly inner: Pattern['arg'] | undefined;
  readonly identifier: string | undefined;
}

/** Folded once for each rule and argument: walks compare many of both. */
const argumentsOf = new WeakMap<Pattern, DenyArgument>();
const foldedArgs = new WeakMap<readonly string[], readonly Folded[]>();

function deniesAny(
  pattern: Pattern,
  args: readonly string[],
  budget: GlobBudget | undefined,
): boolean {
  if (pattern.arg === null) return true;
  const { cased, bare, inner, identifier } = argumentOf(pattern);
  let folded = foldedArgs.get(args);
  if (folded === undefined) foldedArgs.set(args, (folded = args.map(fold)));
  if (budget !== undefined) budget.left -= 2 * folded.length;
  return folded.some(
    (each) =>
      (identifier !== undefined &&
        (identifier === each.identifier || identifier === each.leadingNumber)) ||
      isMatch(cased, each.cased, budget) ||
      ((bare !== cased || each.bare !== each.cased) && isMatch(bare, each.bare, budget)) ||
      (inner !== undefined && isMatch(inner, each.bare, budget)),
  );
}

/** Does now what is otherwise done when the rule is first compared: a long one takes a while. */
export function foldPattern(pattern: Pattern): void {
  argumentOf(pattern);
}

function argumentOf(pattern: Pattern): DenyArgument {
  let known = argumentsOf.get(pattern);
  if (known !== undefined) return known;
  const arg = splitKey(pattern.text)?.arg ?? '';
  // Most rules read the same in all these forms: one compiled pattern serves for them.
  const compile = (text: string) => (pattern.exact ? text : compileArgument(text));
  const folded = fold(arg);
  const cased = folded.cased === arg ? pattern.arg : compile(folded.cased);
  const bare = folded.bare === folded.cased ? cased : compile(folded.bare);
  const innerText = folded.bare.replace(/^\/+(?=[^*/])|(?<=[^*/])\/+$/g, '');
  const inner = innerText === folded.bare ? undefined : compile(innerText);
  known = { cased, bare, inner, identifier: folded.identifier };
  argumentsOf.set(pattern, known);
  return known;
}

function isMatch(pattern: Pattern['arg'], text: string, budget: GlobBudget | undefined): boolean {
  if (pattern === null) return true;
  return typeof pattern === 'string' ? pattern === text : matchesText(pattern, text, budget);
}
