import { AppError } from '../errors/index.ts';
import type { JsonValue } from '../contracts/vocabulary.ts';

/** `invalid_params` about one parameter (docs/reference/errors.md#codes). */
export function invalidParam(name: string, message: string): AppError {
  return new AppError('invalid_params', `Parameter "${name}" ${message}.`, {
    details: { issues: [{ path: name, message }] },
  });
}

/** Percent-encodes everything but RFC 3986's unreserved characters, so that no parser has anything to repair. */
export function encode(text: string, name: string): string {
  if (!text.isWellFormed())
    throw invalidParam(name, 'holds half of a character (a lone surrogate)');
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** As `encode`, but the given reserved characters stay as they are. */
export function encodeExcept(text: string, name: string, kept: string): string {
  return encode(text, name).replace(/%[0-9A-F]{2}/g, (triplet) => {
    const code = Number.parseInt(triplet.slice(1), 16);
    const character = String.fromCharCode(code);
    return code < 0x80 && kept.includes(character) ? character : triplet;
  });
}

/**
 * A value as the text that stands in a URL, a header or a form. OpenAPI says nothing about lists
 * and objects inside of others there; JSON text is what servers are commonly sent.
 */
export function textOf(value: JsonValue, name: string): string {
  if (typeof value === 'string') return value;
  if (value === null) throw invalidParam(name, 'holds null, which cannot be written here');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

export function isRecord(value: JsonValue): value is Record<string, JsonValue> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The entries of an object that are there: null means absent wherever text is written. */
export function presentEntries(value: Record<string, JsonValue>): [string, JsonValue][] {
  return Object.entries(value).filter(([, member]) => member !== null);
}
