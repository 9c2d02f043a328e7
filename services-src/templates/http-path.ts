import { percentEncode, invalidParam } from './text.ts';

/**
 * Characters that a path keeps: RFC 3986 §3.3 `pchar` without `*`, which a permission key writes as
 * `%2A`.
 */
const plainInPath = /[A-Za-z0-9\-._~!$&'()+,;=:@]/;
const unreserved = /[A-Za-z0-9\-._~]/;

/**
 * Normalises the path of a raw HTTP call (RFC 3986 §6.2.2), for the permission key and for sending.
 * Refuses a path that two parsers could read differently.
 */
export function normalisePath(path: string): string {
  return path
    .split('/')
    .map((segment) => {
      const normalSegment = normaliseText(segment, plainInPath);
      if (/%(?:2F|5C|[01][0-9A-F]|7F)/.test(normalSegment)) {
        const message = 'must not hold an encoded slash, backslash or control character';
        throw invalidParam('path', message);
      }
      // Some servers remove `;…` before they resolve dot segments, and some decode it before that.
      const [name = ''] = normalSegment.split(/;|%3B/);
      if (name === '.' || name === '..') {
        throw invalidParam('path', 'must not hold "." or ".." segments');
      }
      return normalSegment;
    })
    .join('/');
}

/**
 * Decodes characters that need no encoding, encodes those that do, and writes triplets in upper
 * case. Encodes nothing twice.
 */
export function normaliseText(text: string, plainPattern: RegExp): string {
  return text.replace(/%([0-9A-Fa-f]{2})?|[^%]/gu, (part, hex: string | undefined) => {
    if (!part.startsWith('%')) return plainPattern.test(part) ? part : percentEncode(part, 'path');
    if (hex === undefined) {
      throw invalidParam('path', 'holds a "%" that is not followed by two hexadecimal digits');
    }
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return unreserved.test(character) ? character : `%${hex.toUpperCase()}`;
  });
}
