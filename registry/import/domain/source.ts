import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from '../../document/domain/context.ts';
import type { JsonObject, DocumentNode } from '../../document/domain/context.ts';
import type { DocumentPath } from '../../document/domain/findings.ts';
import type { Notes } from './notes.ts';

/** The document to import, as it was given. */
export interface ImportSource {
  readonly document: JsonObject;
  /** The version matters because some schema keywords mean something else in OpenAPI 3.0. */
  readonly version: '3.0' | '3.1';
  readonly notes: Notes;
  /** The other files to which references lead, as far as they were followed. */
  readonly files: Set<string>;
}

/** The longest chain of references that is followed; a longer one counts as endless. */
export const referencesMax = 20;

/**
 * Names that are properties of all JavaScript objects. The import leaves out any element with such
 * a name.
 */
const unsafeNames = new Set(['__proto__', 'constructor', 'prototype']);

export function isUnsafeName(name: string): boolean {
  return unsafeNames.has(name);
}

export function objectAt(value: JsonValue | undefined, key: string): JsonObject {
  const child = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return isObject(child) ? child : {};
}

export function textAt(value: JsonObject, key: string): string | undefined {
  const text = Object.hasOwn(value, key) ? value[key] : undefined;
  return typeof text === 'string' ? text : undefined;
}

export function shortenText(text: string, max: number): string {
  const wellFormedText = text.toWellFormed();
  return wellFormedText.length <= max
    ? wellFormedText
    : `${wellFormedText.slice(0, max - 1).toWellFormed()}…`;
}

/**
 * Finds the target of a reference within the document. References to other documents are never
 * fetched: no other server may change what a template means, and a document must not choose which
 * hosts the gateway connects to.
 */
export function lookUpReference(
  source: ImportSource,
  reference: JsonValue,
  from: DocumentPath,
): DocumentNode | undefined {
  const { notes } = source;
  if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference)) {
    if (typeof reference === 'string') noteFile(source, reference, from);
    const shownReference =
      typeof reference === 'string' ? shortenText(reference, 200) : 'A value that is no text';
    notes.warn(
      'ref_remote',
      from,
      `"${shownReference}" is outside the document and is not fetched.`,
    );
    return undefined;
  }
  const path = parsePointer(reference);
  const value = path && valueAt(source.document, path);
  if (path === undefined || value === undefined) {
    notes.warn('ref_not_found', from, `Nothing exists at "${shortenText(reference, 200)}".`);
    return undefined;
  }
  return { value, path };
}

/** The most files that are counted. */
const filesMax = 1000;

/**
 * Notes a further file of the same document: one in the same folder, or one that contains the
 * operations of a path.
 */
function noteFile({ files }: ImportSource, reference: string, from: DocumentPath): void {
  const file = reference.slice(0, 300).split('#')[0] ?? '';
  const isPathItem = from.length === 3 && from[0] === 'paths';
  const isBeside = /[./]/.test(file) && !/^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(file);
  if ((isPathItem || isBeside) && files.size < filesMax) files.add(file);
}

/**
 * Returns the object itself, or the target when the object is a reference. Undefined when the
 * target does not exist; a finding then says so.
 */
export function followReference(
  source: ImportSource,
  node: DocumentNode,
): DocumentNode<JsonObject> | undefined {
  let current: DocumentNode = node;
  for (let hops = 0; isObject(current.value) && Object.hasOwn(current.value, '$ref'); hops += 1) {
    if (hops === referencesMax) {
      source.notes.warn('ref_cycle', node.path, 'The references go round in a circle.');
      return undefined;
    }
    const next = lookUpReference(source, current.value['$ref'] ?? null, [...current.path, '$ref']);
    if (next === undefined) return undefined;
    current = next;
  }
  return isObject(current.value) ? { value: current.value, path: current.path } : undefined;
}

/** Parses the JSON pointer (RFC 6901) of a reference such as `#/components/schemas/Pet`. */
function parsePointer(reference: string): string[] | undefined {
  if (reference.length > 2000) return undefined;
  try {
    return decodeURIComponent(reference.slice(2))
      .split('/')
      .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  } catch {
    // The pointer contains an invalid percent sign, so no value has this pointer.
    return undefined;
  }
}

function valueAt(document: JsonObject, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = document;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step))
      return undefined;
    value = (value as JsonObject)[step];
  }
  return value;
}
