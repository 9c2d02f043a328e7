import type { CompiledTemplate } from '../contracts/template.ts';
import { stepsMax, isSameMethod, lookUp, methodsOf, readWithin } from './operations.ts';
import type { FoundOperation, PathBudget } from './operations.ts';
import { decodeText, segmentsOf } from './segments.ts';

/** What a request may be to whoever serves it. */
export interface ServedOperations {
  /** As its path is written, with its path parameters (`/notes;v=1`) and without: servers differ. */
  readonly listed: readonly FoundOperation[];
  /** Further ones to servers that read paths loosely: `/Notes`, `/notes.json`, `a%2Fb`. */
  readonly alike: readonly FoundOperation[];
  /** Where none is listed: those at this path by other methods, since servers may take one for another. */
  readonly elsewhere: readonly FoundOperation[];
}

/** Undefined where finding out would take too long: it may be any operation with its method. */
export function findServedOperations(
  template: CompiledTemplate,
  { method, path }: { method: string; path: string },
  budget: PathBudget = { left: stepsMax },
): ServedOperations | undefined {
  const plain = isReadAlike(path) ? [...new Set([path, withoutParameters(path)])] : [];
  const listed = findAll(template, [method], { paths: plain, ignoresCase: false, budget });
  if (listed === undefined) return undefined;
  // A method that the template does not list for this path may be taken for one that it lists.
  const methods = listed.length > 0 ? [method] : methodsOf(template, budget);
  const loose = findAll(template, methods, { paths: readingsOf(path), ignoresCase: true, budget });
  if (loose === undefined) return undefined;
  const known = new Set(listed.map(textOf));
  const others = loose.filter((each) => {
    const text = textOf(each);
    if (known.has(text)) return false;
    known.add(text);
    return true;
  });
  return {
    listed,
    alike: others.filter(({ action }) => isSameMethod(action.method, method)),
    elsewhere: others.filter(({ action }) => !isSameMethod(action.method, method)),
  };
}

interface Sought {
  readonly paths: readonly string[];
  readonly ignoresCase: boolean;
  readonly budget: PathBudget;
}

/** What the template has at any of the paths by any of the methods. Undefined: too much to look through. */
function findAll(
  template: CompiledTemplate,
  methods: readonly string[],
  sought: Sought,
): FoundOperation[] | undefined {
  const all: FoundOperation[] = [];
  for (const path of sought.paths) {
    const segments = readWithin(path, sought.budget);
    for (const method of methods) {
      const found = lookUp(template, method, { ...sought, segments });
      if (found === undefined) return undefined;
      all.push(...found);
    }
  }
  return all;
}

/** The part of a path below a prefix; not `isExact` where only some servers take its beginning for it. */
export function pathBelow(
  prefix: string,
  path: string,
): { path: string; isExact: boolean } | undefined {
  if (path === prefix || path.startsWith(`${prefix}/`)) {
    return { path: path.slice(prefix.length), isExact: true };
  }
  const expected = loosely(prefix);
  const given = segmentsOf(path.replaceAll(/%(?:2F|5C)/gi, '/'));
  const isBelow = expected.every((segment, at) => segment === loosely(given[at] ?? '')[0]);
  return isBelow
    ? { path: `/${given.slice(expected.length).join('/')}`, isExact: false }
    : undefined;
}

/** Not encoded twice, and UTF-8: of anything else servers make different things. */
function isReadAlike(path: string): boolean {
  if (!path.includes('%')) return true;
  try {
    decodeURIComponent(path);
  } catch {
    return false;
  }
  return !/%25[0-9A-F]{2}/i.test(path);
}

/** What frameworks that serve several formats take off the end of a path. */
const formatSuffix = /\.(?:json|xml|html|js|csv|txt|yaml|yml|rss|atom)$/i;

/** Literally first; then by servers that drop path parameters, split at encoded slashes, drop a format. */
function readingsOf(path: string): string[] {
  const whole = withoutParameters(path.replaceAll(/%3B/gi, ';'));
  const split = whole.replaceAll(/%(?:2F|5C)/gi, '/');
  const withoutFormat = [whole, split].map((each) => each.replace(formatSuffix, ''));
  return [...new Set([path, whole, split, ...withoutFormat])];
}

function withoutParameters(path: string): string {
  return path.replaceAll(/;[^/]*/g, '');
}

function loosely(path: string): string[] {
  return segmentsOf(withoutParameters(decodeText(path))).map((segment) => segment.toLowerCase());
}

function textOf({ action, pathValues }: FoundOperation): string {
  return JSON.stringify([action.key, pathValues]);
}
