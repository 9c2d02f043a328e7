import { AppError, shortenText } from '../errors/index.ts';
import type { JsonValue } from '../contracts/vocabulary.ts';

/** An error `invalid_params` about one parameter (docs/reference/errors.md#codes). */
export function invalidParam(name: string, message: string): AppError {
  return new AppError('invalid_params', `Parameter "${shortenText(name)}" ${message}.`, {
    details: { issues: [{ path: name, message }] },
  });
}

/**
 * Percent-encodes everything except RFC 3986's unreserved characters, so that all parsers read one
 * text.
 */
export function percentEncode(text: string, name: string): string {
  if (!text.isWellFormed())
    throw invalidParam(name, 'holds half of a character (a lone surrogate)');
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Like `encode`, but keeps the given reserved characters. */
export function percentEncodeExcept(
  text: string,
  name: string,
  unencodedCharacters: string,
): string {
  return percentEncode(text, name).replace(/%[0-9A-F]{2}/g, (triplet) => {
    const code = Number.parseInt(triplet.slice(1), 16);
    const character = String.fromCharCode(code);
    return code < 0x80 && unencodedCharacters.includes(character) ? character : triplet;
  });
}

/**
 * A value as text in a URL, a header or a form. OpenAPI does not define how to write nested lists
 * and objects in them; they become JSON text, as is common.
 */
export function textOf(value: JsonValue, name: string): string {
  if (typeof value === 'string') return value;
  if (value === null) throw invalidParam(name, 'holds null, which cannot be written here');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

export function isRecord(value: JsonValue): value is Record<string, JsonValue> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The entries of an object without nulls: null means absent in every text format. */
export function presentEntriesOf(value: Record<string, JsonValue>): [string, JsonValue][] {
  return Object.entries(value).filter(([, member]) => member !== null);
}
