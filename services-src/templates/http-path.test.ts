import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { normalisePath } from './http-path.ts';

describe('normalisePath', () => {
  test.for<[name: string, path: string, normal: string]>([
    ['unreserved characters are decoded', '/%41%7e%2D', '/A~-'],
    ['triplets are written in upper case', '/a%3ab', '/a%3Ab'],
    ['nothing is encoded twice', '/a%20b', '/a%20b'],
    ['what is encoded twice stays so', '/a%252Fb', '/a%252Fb'],
    ['a wildcard is encoded', '/a*b', '/a%2Ab'],
    ['an encoded wildcard is the same', '/a%2ab', '/a%2Ab'],
    ['other text is encoded as UTF-8', '/é{}', '/%C3%A9%7B%7D'],
    ['empty segments stay', '//a//', '//a//'],
    ['sub-delimiters stay', "/a!$&'()+,;=:@", "/a!$&'()+,;=:@"],
  ])('%s', ([, path, normal]) => {
    expect(normalisePath(path)).toBe(normal);
  });

  test('normalising twice changes nothing, never leaves a wildcard, and is what a URL parser reads', () => {
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
