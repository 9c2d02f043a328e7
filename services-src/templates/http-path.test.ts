import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { normalisePath } from './http-path.ts';

describe('the normal form of a path (normalisePath)', () => {
  test.for<[name: string, path: string, normal: string]>([
    ['has unreserved characters decoded', '/%41%7e%2D', '/A~-'],
    ['has percent triplets in upper case', '/a%3ab', '/a%3Ab'],
    ['keeps what is encoded already', '/a%20b', '/a%20b'],
    ['keeps text that is encoded twice', '/a%252Fb', '/a%252Fb'],
    ['has an asterisk encoded', '/a*b', '/a%2Ab'],
    ['has an encoded asterisk in upper case', '/a%2ab', '/a%2Ab'],
    ['has other characters encoded as UTF-8', '/é{}', '/%C3%A9%7B%7D'],
    ['keeps empty segments', '//a//', '//a//'],
    ['keeps sub-delimiters', "/a!$&'()+,;=:@", "/a!$&'()+,;=:@"],
  ])('%s: %s becomes %s', ([, path, normal]) => {
    expect(normalisePath(path)).toBe(normal);
  });

  test('contains no wildcard, and is changed neither by a URL parser nor by a second normalisation', () => {
    const segment = fc
      .string({ unit: 'grapheme' })
      .filter((text) => !/[\\?#/%\s\p{Cc}]/u.test(text));
    fc.assert(
      fc.property(fc.array(segment), (segments) => {
        const path = `/${segments.join('/')}`;
        fc.pre(segments.every((each) => !['.', '..'].includes(each.split(';')[0] ?? '')));
        fc.pre(path.isWellFormed());
        const normal = normalisePath(path);
        expect(normalisePath(normal)).toBe(normal);
        expect(normal).not.toContain('*');
        expect(new URL(`https://a.example${normal}`).pathname).toBe(normal);
      }),
      { numRuns: 10_000 },
    );
  });
});
