import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from '../domain/context.ts';
import type { JsonObject, Place } from '../domain/context.ts';
import type { Path } from '../domain/findings.ts';
import type { Notes } from './notes.ts';

/** The document that is imported, as it was written. */
export interface Source {
  readonly document: JsonObject;
  /** 3.0 reads some schema keywords differently. */
  readonly version: '3.0' | '3.1';
  readonly notes: Notes;
}

/** Where references may lead to before the chain counts as endless. */
export const hopsMax = 20;

/** Keys that mean something to JavaScript objects; names of a document that are one of them are left out. */
const unsafeNames = new Set(['__proto__', 'constructor', 'prototype']);

export function isUnsafeName(name: string): boolean {
  return unsafeNames.has(name);
}

export function objectAt(value: JsonValue | undefined, key: string): JsonObject {
  const inner = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return isObject(inner) ? inner : {};
}

export function textAt(value: JsonObject, key: string): string | undefined {
  const text = Object.hasOwn(value, key) ? value[key] : undefined;
  return typeof text === 'string' ? text : undefined;
}

export function shorten(text: string, max: number): string {
  const well = text.toWellFormed();
  return well.length <= max ? well : `${well.slice(0, max - 1).toWellFormed()}…`;
}

/**
 * What a local reference names. Anything else is never fetched: what a template means must not
 * depend on another machine, and fetching would let a document choose where we connect to.
 */
export function lookUp(source: Source, reference: JsonValue, at: Path): Place | undefined {
  const { notes } = source;
  if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference)) {
    const shown =
      typeof reference === 'string' ? shorten(reference, 200) : 'A value that is no text';
    notes.warn('ref_remote', at, `"${shown}" lies outside of the document and is not fetched.`);
    return undefined;
  }
  const path = parsePointer(reference);
  const value = path && valueAt(source.document, path);
  if (path === undefined || value === undefined) {
    notes.warn('ref_not_found', at, `Nothing stands at "${shorten(reference, 200)}".`);
    return undefined;
  }
  return { value, path };
}

/** Follows Reference Objects to the object they stand for; undefined, and noted, where there is none. */
export function follow(source: Source, at: Place): Place<JsonObject> | undefined {
  let place: Place = at;
  for (let hops = 0; isObject(place.value) && Object.hasOwn(place.value, '$ref'); hops += 1) {
    if (hops === hopsMax) {
      source.notes.warn('ref_cycle', at.path, 'The references go round in a circle.');
      return undefined;
    }
    const next = lookUp(source, place.value['$ref'] ?? null, [...place.path, '$ref']);
    if (next === undefined) return undefined;
    place = next;
  }
  return isObject(place.value) ? { value: place.value, path: place.path } : undefined;
}

/** RFC 6901, in a URI fragment. */
function parsePointer(reference: string): string[] | undefined {
  if (reference.length > 2000) return undefined;
  try {
    return decodeURIComponent(reference.slice(2))
      .split('/')
      .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  } catch {
    // A stray "%": the pointer names nothing.
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
