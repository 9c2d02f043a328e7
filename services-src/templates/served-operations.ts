import type { CompiledTemplate } from '../contracts/template.ts';
import {
  stepsMax,
  isSameMethod,
  lookUpOperations,
  methodsOf,
  readSegmentsWithin,
} from './operations.ts';
import type { FoundOperation, PathBudget } from './operations.ts';
import { anySegment } from './roots.ts';
import { decodeText, segmentsOf } from './segments.ts';

/** The operations that a server may run for a request. */
export interface ServedOperations {
  /**
   * Operations at the path as written, once with its path parameters (`/notes;v=1`) and once
   * without them, because servers differ.
   */
  readonly listed: readonly FoundOperation[];
  /**
   * Further operations, for servers that treat similar paths as one: `/Notes`, `/notes.json`,
   * `a%2Fb`.
   */
  readonly alike: readonly FoundOperation[];
  /**
   * Operations at this path with other methods, given only when `listed` is empty: a server may
   * treat one method as another.
   */
  readonly elsewhere: readonly FoundOperation[];
}

/**
 * Finds the operations that a server may run for a request. Undefined when the search would take
 * too long; the request may then be any operation with its method.
 */
export function findServedOperations(
  template: CompiledTemplate,
  { method, path }: { method: string; path: string },
  budget: PathBudget = { left: stepsMax },
): ServedOperations | undefined {
  const plainPaths = isReadAlike(path) ? [...new Set([path, withoutParameters(path)])] : [];
  const listedOperations = findAllOperations(template, [method], {
    paths: plainPaths,
    ignoresCase: false,
    budget,
  });
  if (listedOperations === undefined) return undefined;
  // When the template lists no operation with this method at the path, a server may treat the
  // method as one that the template lists.
  const methods = listedOperations.length > 0 ? [method] : methodsOf(template, budget);
  const looseOperations = findAllOperations(template, methods, {
    paths: readingsOf(path),
    ignoresCase: true,
    budget,
  });
  if (looseOperations === undefined) return undefined;
  const knownOperations = new Set(listedOperations.map(textOf));
  const otherOperations = looseOperations.filter((each) => {
    const text = textOf(each);
    if (knownOperations.has(text)) return false;
    knownOperations.add(text);
    return true;
  });
  return {
    listed: listedOperations,
    alike: otherOperations.filter(({ action }) => isSameMethod(action.method, method)),
    elsewhere: otherOperations.filter(({ action }) => !isSameMethod(action.method, method)),
  };
}

interface OperationSearch {
  readonly paths: readonly string[];
  readonly ignoresCase: boolean;
  readonly budget: PathBudget;
}

/**
 * Finds all operations at any of the paths with any of the methods. Undefined when the search would
 * take too long.
 */
function findAllOperations(
  template: CompiledTemplate,
  methods: readonly string[],
  operationSearch: OperationSearch,
): FoundOperation[] | undefined {
  const foundOperations: FoundOperation[] = [];
  for (const path of operationSearch.paths) {
    const segments = readSegmentsWithin(path, operationSearch.budget);
    for (const method of methods) {
      const operations = lookUpOperations(template, method, { ...operationSearch, segments });
      if (operations === undefined) return undefined;
      foundOperations.push(...operations);
    }
  }
  return foundOperations;
}

/**
 * The part of a path below a prefix. `isExact` is false when only some servers would match the
 * prefix, and when the prefix has segments that are not known.
 */
export function pathBelow(
  prefix: string,
  path: string,
): { path: string; isExact: boolean } | undefined {
  if (path === prefix || path.startsWith(`${prefix}/`)) {
    return { path: path.slice(prefix.length), isExact: true };
  }
  const expectedSegments = toLooseSegments(prefix);
  const givenSegments = segmentsOf(path.replaceAll(/%(?:2F|5C)/gi, '/'));
  const isBelow = expectedSegments.every((segment, at) => {
    const givenSegment = toLooseSegments(givenSegments[at] ?? '')[0];
    return givenSegment !== undefined && (segment === anySegment || segment === givenSegment);
  });
  return isBelow
    ? { path: `/${givenSegments.slice(expectedSegments.length).join('/')}`, isExact: false }
    : undefined;
}

/** Whether all servers decode the path in one way: it is UTF-8 and not encoded twice. */
function isReadAlike(path: string): boolean {
  if (!path.includes('%')) return true;
  try {
    decodeURIComponent(path);
  } catch {
    return false;
  }
  return !/%25[0-9A-F]{2}/i.test(path);
}

/** File endings that frameworks with several output formats remove from a path. */
const formatSuffix = /\.(?:json|xml|html|js|csv|txt|yaml|yml|rss|atom)$/i;

/**
 * The readings of a path: first the path as written, then as servers read it that drop path
 * parameters, split at encoded slashes, or remove a format ending.
 */
function readingsOf(path: string): string[] {
  const wholePath = withoutParameters(path.replaceAll(/%3B/gi, ';'));
  const splitPath = wholePath.replaceAll(/%(?:2F|5C)/gi, '/');
  const pathsWithoutFormat = [wholePath, splitPath].map((each) => each.replace(formatSuffix, ''));
  return [...new Set([path, wholePath, splitPath, ...pathsWithoutFormat])];
}

function withoutParameters(path: string): string {
  return path.replaceAll(/;[^/]*/g, '');
}

function toLooseSegments(path: string): string[] {
  return segmentsOf(withoutParameters(decodeText(path))).map((segment) => segment.toLowerCase());
}

function textOf({ action, pathValues }: FoundOperation): string {
  return JSON.stringify([action.key, pathValues]);
}
