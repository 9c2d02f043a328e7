import { AppError } from '#errors';
import type { JsonValue } from '#contracts/vocabulary';

/** `invalid_params` about one parameter, in the form of decisions section 12. */
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

/** A value as the text that stands in a URL or a header. */
export function textOf(value: JsonValue, name: string): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw invalidParam(name, 'must be a text, a number or a boolean here');
}

/** A header value in the bytes of UTF-8, which is how a header carries more than ASCII (RFC 9110 §5.5). */
export function headerText(value: string, name: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value) || !value.isWellFormed()) {
    throw invalidParam(name, 'holds control characters, which a header cannot carry');
  }
  // oxlint-disable-next-line no-control-regex -- ASCII is a range of code points
  return /^[\u0000-\u007f]*$/.test(value) ? value : Buffer.from(value, 'utf8').toString('latin1');
}
