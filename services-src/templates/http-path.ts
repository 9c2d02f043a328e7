import { encode, invalidParam } from './text.ts';

/** RFC 3986 §3.3 `pchar`, without `*`, which a permission key spells `%2A`. */
const plainInPath = /[A-Za-z0-9\-._~!$&'()+,;=:@]/;
const unreserved = /[A-Za-z0-9\-._~]/;

/**
 * The path of a verb or raw call, normalised once by RFC 3986 §6.2.2: as it stands in the
 * permission key and as it is sent. Refuses whatever two parsers could read differently.
 */
export function normalisePath(path: string): string {
  return path
    .split('/')
    .map((segment) => {
      const normal = normaliseText(segment, plainInPath);
      if (/%(?:2F|5C|[01][0-9A-F]|7F)/.test(normal)) {
        const message = 'must not hold an encoded slash, backslash or control character';
        throw invalidParam('path', message);
      }
      // Some servers drop `;…` before they resolve dot segments.
      const [name = ''] = normal.split(';');
      if (name === '.' || name === '..') {
        throw invalidParam('path', 'must not hold "." or ".." segments');
      }
      return normal;
    })
    .join('/');
}

/** Decodes what needs no encoding, encodes what does, triplets in upper case; nothing twice. */
export function normaliseText(text: string, plain: RegExp): string {
  return text.replace(/%([0-9A-Fa-f]{2})?|[^%]/gu, (part, hex: string | undefined) => {
    if (!part.startsWith('%')) return plain.test(part) ? part : encode(part, 'path');
    if (hex === undefined) {
      throw invalidParam('path', 'holds a "%" that is not followed by two hexadecimal digits');
    }
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return unreserved.test(character) ? character : `%${hex.toUpperCase()}`;
  });
}
