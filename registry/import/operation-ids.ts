import { createHash } from 'node:crypto';

import { placeholdersOf } from './paths.ts';

export interface NamedOperation {
  readonly method: string;
  /** As the source has it. */
  readonly path: string;
  readonly givenId: string | undefined;
}

const usable = /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/;
const reserved = new Set(['constructor', 'prototype']);
const lengthMax = 100;

/**
 * An id for every operation, in their order. Ids of the source stay where they can; others are made
 * of method and path alone, so that the same operation has the same id in the next import of the
 * document, whatever else was added to it.
 */
export function nameOperations(operations: readonly NamedOperation[]): string[] {
  const taken = new Set<string>();
  const names: (string | undefined)[] = operations.map(() => undefined);
  for (const index of inStableOrder(operations)) {
    const { givenId } = operations[index]!;
    if (givenId === undefined || !usable.test(givenId) || isTaken(taken, givenId)) continue;
    taken.add(givenId);
    names[index] = givenId;
  }
  let open = [...operations.keys()].filter((index) => names[index] === undefined);
  for (const candidate of [shortName, longName, hashedName]) {
    const wanted = new Map<string, number[]>();
    for (const index of open) {
      const name = candidate(operations[index]!);
      wanted.set(name, [...(wanted.get(name) ?? []), index]);
    }
    // Of several that want one name nobody gets it: who came first would depend on the others.
    const granted = [...wanted].filter(([name, who]) => who.length === 1 && !isTaken(taken, name));
    for (const [name, [index]] of granted) {
      taken.add(name);
      names[index!] = name;
    }
    open = open.filter((index) => names[index] === undefined);
  }
  return operations.map((operation, index) => names[index] ?? hashedName(operation));
}

function isTaken(taken: ReadonlySet<string>, name: string): boolean {
  return taken.has(name) || reserved.has(name);
}

/** Of two operations with one id, the one that keeps it does not depend on the order of the document. */
function inStableOrder(operations: readonly NamedOperation[]): number[] {
  const identity = (index: number) => identityOf(operations[index]!);
  return [...operations.keys()].toSorted((a, b) =>
    identity(a) < identity(b) ? -1 : identity(a) > identity(b) ? 1 : 0,
  );
}

function identityOf({ method, path }: NamedOperation): string {
  return `${path} ${method}`;
}

/** `issues/list-for-repo` → `issues_list-for-repo`; without one `GET /repos/{repo}/issues` → `list_repos_issues`. */
function shortName(operation: NamedOperation): string {
  const mended = mend(operation.givenId ?? '');
  return mended ?? fromPath(operation, wordsOfPath(operation.path.replaceAll(/\{[^{}]*\}/g, '')));
}

/** `/a/{id}/b` and `/a/b` want one name, and get two: `list_a_by_id_b` and `list_a_b`. */
function longName(operation: NamedOperation): string {
  const path = operation.path.replaceAll(/\{([^{}]*)\}/g, 'by_$1');
  return fromPath(operation, wordsOfPath(path));
}

function hashedName(operation: NamedOperation): string {
  const hash = createHash('sha256').update(identityOf(operation)).digest('hex').slice(0, 8);
  return `${shortName(operation).slice(0, lengthMax)}_${hash}`;
}

function mend(givenId: string): string | undefined {
  const name = givenId
    .slice(0, 1000)
    .replaceAll(/[^A-Za-z0-9_.-]+/g, '_')
    .replace(/^[^A-Za-z]+/, '')
    .replace(/[_.-]+$/, '')
    .slice(0, lengthMax);
  return name === '' || reserved.has(name) ? undefined : name;
}

function fromPath({ method, path }: NamedOperation, words: string[]): string {
  const name = [verbOf(method, path), ...words].join('_').replaceAll(/_{2,}/g, '_');
  return name.slice(0, lengthMax).replace(/_+$/, '');
}

function wordsOfPath(path: string): string[] {
  return path
    .slice(0, 1000)
    .split(/[/#?&=]/)
    .map((segment) => segment.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_+|_+$/g, ''))
    .filter((segment) => segment !== '' && !/^(?:api|rest|v\d+(?:_\d+)*)$/i.test(segment));
}

function verbOf(method: string, path: string): string {
  const last = path.split('/').findLast((segment) => segment !== '') ?? '';
  const isCollection = /s$/i.test(last) && placeholdersOf(last).length === 0;
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
