import { createHash } from 'node:crypto';

import { placeholderNamesOf } from './paths.ts';

export interface NamedOperation {
  readonly method: string;
  /** The path as the source document has it. */
  readonly path: string;
  readonly givenId: string | undefined;
}

const usableId = /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/;
const reservedIds = new Set(['constructor', 'prototype']);
const idCharactersMax = 100;

/**
 * Returns an id for each operation, in the order of the list. An operation keeps its id from the
 * source if that is usable. Otherwise the id depends only on method and path, so that the operation
 * has the same id when a later version of the document with more operations is imported.
 */
export function nameOperations(operations: readonly NamedOperation[]): string[] {
  const takenIds = new Set<string>();
  const ids: (string | undefined)[] = operations.map(() => undefined);
  for (const index of sortByPathAndMethod(operations)) {
    const { givenId } = operations[index]!;
    if (givenId === undefined || !usableId.test(givenId) || isIdTaken(takenIds, givenId)) continue;
    takenIds.add(givenId);
    ids[index] = givenId;
  }
  let unnamedIndexes = [...operations.keys()].filter((index) => ids[index] === undefined);
  for (const createName of [shortNameOf, longNameOf, hashedNameOf]) {
    const wantedIds = new Map<string, number[]>();
    for (const index of unnamedIndexes) {
      const name = createName(operations[index]!);
      wantedIds.set(name, [...(wantedIds.get(name) ?? []), index]);
    }
    // When several operations want a name, none of them gets the name. Otherwise their order in the
    // document would decide.
    const uniqueWantedIds = [...wantedIds].filter(
      ([name, wantingIndexes]) => wantingIndexes.length === 1 && !isIdTaken(takenIds, name),
    );
    for (const [name, [index]] of uniqueWantedIds) {
      takenIds.add(name);
      ids[index!] = name;
    }
    unnamedIndexes = unnamedIndexes.filter((index) => ids[index] === undefined);
  }
  return operations.map((operation, index) => ids[index] ?? hashedNameOf(operation));
}

function isIdTaken(takenIds: ReadonlySet<string>, name: string): boolean {
  return takenIds.has(name) || reservedIds.has(name);
}

/**
 * Orders operations by path and method. When two operations have the same id in the source, the
 * first in this order keeps it, wherever they are in the document.
 */
function sortByPathAndMethod(operations: readonly NamedOperation[]): number[] {
  const pathAndMethodAt = (index: number) => pathAndMethodOf(operations[index]!);
  return [...operations.keys()].toSorted((a, b) =>
    pathAndMethodAt(a) < pathAndMethodAt(b) ? -1 : pathAndMethodAt(a) > pathAndMethodAt(b) ? 1 : 0,
  );
}

function pathAndMethodOf({ method, path }: NamedOperation): string {
  return `${path} ${method}`;
}

/**
 * Makes a name from the id in the source (`issues/list-for-repo` gives `issues_list-for-repo`), or
 * else from method and path (`GET /repos/{repo}/issues` gives `list_repos_issues`).
 */
function shortNameOf(operation: NamedOperation): string {
  const repairedId = repairId(operation.givenId ?? '');
  return (
    repairedId ?? nameFromPath(operation, wordsOfPath(operation.path.replaceAll(/\{[^{}]*\}/g, '')))
  );
}

/**
 * Makes a name that includes the placeholders of the path. `/a/{id}/b` and `/a/b` have the same
 * short name; their long names are `list_a_by_id_b` and `list_a_b`.
 */
function longNameOf(operation: NamedOperation): string {
  const path = operation.path.replaceAll(/\{([^{}]*)\}/g, 'by_$1');
  return nameFromPath(operation, wordsOfPath(path));
}

function hashedNameOf(operation: NamedOperation): string {
  const hash = createHash('sha256').update(pathAndMethodOf(operation)).digest('hex').slice(0, 8);
  return `${shortNameOf(operation).slice(0, idCharactersMax)}_${hash}`;
}

function repairId(givenId: string): string | undefined {
  const name = givenId
    .slice(0, 1000)
    .replaceAll(/[^A-Za-z0-9_.-]+/g, '_')
    .replace(/^[^A-Za-z]+/, '')
    .replace(/[_.-]+$/, '')
    .slice(0, idCharactersMax);
  return name === '' || reservedIds.has(name) ? undefined : name;
}

function nameFromPath({ method, path }: NamedOperation, words: string[]): string {
  const name = [verbOfMethod(method, path), ...words].join('_').replaceAll(/_{2,}/g, '_');
  return name.slice(0, idCharactersMax).replace(/_+$/, '');
}

function wordsOfPath(path: string): string[] {
  return path
    .slice(0, 1000)
    .split(/[/#?&=]/)
    .map((segment) => segment.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_+|_+$/g, ''))
    .filter((segment) => segment !== '' && !/^(?:api|rest|v\d+(?:_\d+)*)$/i.test(segment));
}

function verbOfMethod(method: string, path: string): string {
  const last = path.split('/').findLast((segment) => segment !== '') ?? '';
  const isCollection = /s$/i.test(last) && placeholderNamesOf(last).length === 0;
  switch (method) {
    case 'GET':
      return isCollection ? 'list' : 'get';
    case 'POST':
      return isCollection ? 'create' : 'post';
    case 'PUT':
      return 'replace';
    case 'PATCH':
      return 'update';
    default:
      return method.toLowerCase();
  }
}
