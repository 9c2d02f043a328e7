import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { createActionKey, createHttpKey, splitKey } from './keys.ts';
import { parsePattern } from '../../policy/rules/domain/pattern-text.ts';
import { compilePattern, coversAllOf, matchesKey } from './patterns.ts';
import { alikeKeys, propertyRuns } from '../../policy/properties.testing.ts';

const matches = (pattern: string, key: string, exact = false) =>
  matchesKey(compilePattern(pattern, exact), { key, ...splitOf(key) });

function splitOf(key: string) {
  const segments = splitKey(key);
  if (segments === undefined) throw new Error(`${key} is no key`);
  return segments;
}

describe('matchesKey (whether a pattern matches a permission key)', () => {
  test.for<[pattern: string, key: string, expected: boolean]>([
    ['github:issues.create:acme/site', 'github:issues.create:acme/site', true],
    ['github:issues.create:acme/site', 'github:issues.create:acme/site2', false],
    ['github:issues.create:acme/site', 'github:issues.create:acme/sit', false],
    ['github:issues.create:acme/site', 'github:issues.create:Acme/site', false],
    ['github:issues.create:acme/site', 'GitHub:issues.create:acme/site', false],
    ['github:issues.create:acme/site', 'org/github:issues.create:acme/site', false],
    ['github:issues.create:*', 'github:issues.create:acme/site', true],
    ['github:issues.create:*', 'github:issues.create:*', true],
    ['github:issues.create:*', 'github:issues.close:acme/site', false],
    ['github:issues.create:acme', 'github:issues.create:*', false],
    ['github:*:*', 'github:anything:at/all', true],
    ['github:*:*', 'gitlab:anything:at/all', false],
    ['*:*:*', 'gitlab:anything:at/all', true],
    ['github:issues.create:acme/*', 'github:issues.create:acme/site', true],
    ['github:issues.create:acme/*', 'github:issues.create:acme/', true],
    ['github:issues.create:acme/*', 'github:issues.create:acme/site/deep', false],
    ['github:issues.create:acme/**', 'github:issues.create:acme/site/deep', true],
    ['github:issues.create:acme/**', 'github:issues.create:acme', false],
    ['github:issues.create:*/site', 'github:issues.create:acme/site', true],
    ['github:issues.create:*/site', 'github:issues.create:a/b/site', false],
    ['github:issues.create:**/site', 'github:issues.create:a/b/site', true],
    ['github:issues.create:a*b*c', 'github:issues.create:a-b-b-c', true],
    ['github:issues.create:a*b*c', 'github:issues.create:a-b-/b-c', false],
    ['github:issues.create:a**b*c', 'github:issues.create:a/x/b-c', true],
    ['github:issues.create:a.c', 'github:issues.create:abc', false],
    ['github:issues.create:[ab]', 'github:issues.create:a', false],
    ['github:issues.create:a?', 'github:issues.create:ab', false],
    // A derived key spells a literal `*` as `%2A`; only a pattern with the same spelling names it.
    ['github:issues.create:%2A', 'github:issues.create:%2A', true],
    ['github:issues.create:x', 'github:issues.create:%2A', false],
    // In a service or action only a lone `*` is a wildcard.
    ['git*:issues.create:x', 'github:issues.create:x', false],
    ['github:issues.*:x', 'github:issues.create:x', false],
    ['http:GET:api.example.com/**', 'http:GET:api.example.com/v1/users', true],
    ['http:GET:api.example.com/**', 'http:GET:api.example.com.evil.example/', false],
    ['http:GET:api.example.com/**', 'http:POST:api.example.com/v1/users', false],
    ['http:GET:*.example.com/**', 'http:GET:api.example.com/v1', true],
    ['http:GET:*.example.com/**', 'http:GET:evil.example/x.example.com/y', false],
    ['http:ANY:api.example.com/**', 'http:DELETE:api.example.com/v1', true],
    ['http:*:api.example.com/**', 'http:DELETE:api.example.com/v1', true],
    ['http:GET:api.example.com:8443/v1', 'http:GET:api.example.com:8443/v1', true],
    ['http:GET:api.example.com/v1', 'http:GET:api.example.com:8443/v1', false],
    // `ANY` stands for every HTTP method only in keys of the service `http`.
    ['github:ANY:*', 'github:issues.create:x', false],
    ['secret:token:*', 'secret:token:api.example.com', true],
    ['secret:token:api.example.com', 'secret:token:evil.example', false],
    ['damaged', 'github:issues.create:x', false],
  ])('gives for the pattern %s and the key %s: %s', ([pattern, key, expected]) => {
    expect(matches(pattern, key)).toBe(expected);
  });

  test.for<[pattern: string, key: string, expected: boolean]>([
    ['github:issues.create:*', 'github:issues.create:*', true],
    ['github:issues.create:*', 'github:issues.create:acme', false],
    ['github:*:*', 'github:issues.create:x', false],
    ['http:ANY:a/**', 'http:GET:a/b', false],
  ])(
    'gives for the pattern %s of an exact rule, which has no wildcards, and the key %s: %s',
    ([pattern, key, expected]) => {
      expect(matches(pattern, key, true)).toBe(expected);
    },
  );

  const name = fc.stringMatching(/^[a-z]{1,3}$/);
  const argument = fc.string({ unit: fc.constantFrom('a', 'b', '/', '*', '%', ':', '.', '\n') });

  test('is true for a pattern without wildcards exactly if its bytes equal those of the key', () => {
    fc.assert(
      fc.property(name, name, argument, argument, (service, action, left, right) => {
        const rule = createActionKey(service, action, left);
        const key = createActionKey(service, action, right);
        const isEqual = Buffer.from(rule.key).equals(Buffer.from(key.key));
        expect(matchesKey(compilePattern(rule.key, false), key)).toBe(isEqual);
        expect(matchesKey(compilePattern(rule.key, true), key)).toBe(isEqual);
      }),
      { numRuns: propertyRuns },
    );
  });

  test('never depends on wildcards or separators in a part of the key', () => {
    fc.assert(
      fc.property(alikeKeys, ([one, other]) => {
        const isEqual = one.key === other.key;
        expect(matchesKey(compilePattern(one.key, true), other)).toBe(isEqual);
        expect(matchesKey(compilePattern(one.key, false), other)).toBe(isEqual);
        expect(coversAllOf(compilePattern(one.key, false), compilePattern(other.key, true))).toBe(
          isEqual,
        );
      }),
      { numRuns: propertyRuns },
    );
  });

  test('is true for a pattern that was copied from the key', () => {
    fc.assert(
      fc.property(alikeKeys, ([{ key, service, action, arg }]) => {
        // The last segment of a `secret` key is a host, and these random texts are not hosts.
        fc.pre(action !== '' && arg !== '' && service !== 'secret' && key.isWellFormed());
        expect(parsePattern(key)).toBe(key);
      }),
      { numRuns: propertyRuns },
    );
  });

  const glob = fc.string({ unit: fc.constantFrom('a', 'b', '/', '*', '**') });
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '/') });

  test('agrees with a simple reference implementation of wildcards', () => {
    fc.assert(
      fc.property(glob, text, (pattern, arg) => {
        expect(matches(`s:a:${pattern}`, `s:a:${arg}`)).toBe(matchesByRegExp(pattern, arg));
      }),
      { numRuns: propertyRuns },
    );
  });

  test('is right for texts and patterns that need more than one machine word', () => {
    const long = 'abcdefgh/'.repeat(40);

    expect(matches(`s:a:${long}**${long}`, `s:a:${long}x/y${long}`)).toBe(true);
    expect(matches(`s:a:${long}*${long}`, `s:a:${long}x/y${long}`)).toBe(false);
    expect(matches(`s:a:${'a*'.repeat(500)}b`, `s:a:${'a'.repeat(4000)}`)).toBe(false);
  });

  test('is true for a pattern that covers a second pattern, whenever the second pattern matches the key', () => {
    fc.assert(
      fc.property(glob, glob, text, (outer, inner, arg) => {
        const pattern = compilePattern(`s:a:${outer}`, false);
        if (!coversAllOf(pattern, compilePattern(`s:a:${inner}`, false))) return;
        if (!matches(`s:a:${inner}`, `s:a:${arg}`)) return;
        expect(matches(`s:a:${outer}`, `s:a:${arg}`)).toBe(true);
      }),
      { numRuns: propertyRuns },
    );
  });

  /** One part of a pattern, with what may replace it in a narrower pattern and in a text. */
  const part = fc.oneof(
    fc.constantFrom('a', 'b', '/').map((literal) => [literal, literal, literal] as const),
    fc
      .constantFrom(['*', 'ab'], ['a', 'a'], ['', ''], ['a*', 'aab'])
      .map(([inner = '', run = '']) => ['*', inner, run] as const),
    fc
      .constantFrom(['**', 'a/b'], ['*', 'b'], ['a/*', 'a/'], ['', ''])
      .map(([inner = '', run = '']) => ['**', inner, run] as const),
  );

  test('agrees with coversAllOf: a pattern covers each pattern that results from narrowing its wildcards', () => {
    fc.assert(
      fc.property(fc.array(part, { minLength: 1 }), (parts) => {
        const [outer, inner, arg] = [0, 1, 2].map((index) =>
          parts.map((each) => each[index]).join(''),
        );
        const pattern = compilePattern(`s:a:${outer}`, false);
        expect(coversAllOf(pattern, compilePattern(`s:a:${inner}`, false))).toBe(true);
        expect(matchesKey(pattern, createActionKey('s', 'a', arg))).toBe(true);
      }),
      { numRuns: propertyRuns },
    );
  });
});

describe('coversAllOf (whether one pattern covers all of another pattern)', () => {
  test.for<[outer: string, inner: string, expected: boolean]>([
    ['github:*:*', 'github:issues.create:*', true],
    ['github:issues.create:*', 'github:issues.create:*', true],
    ['github:issues.create:*', 'github:*:*', false],
    ['github:issues.create:acme/**', 'github:issues.create:acme/*', true],
    ['github:issues.create:acme/*', 'github:issues.create:acme/**', false],
    ['github:issues.create:acme/**', 'github:issues.create:*', false],
    ['http:ANY:a.example/**', 'http:GET:a.example/**', true],
    ['http:GET:a.example/**', 'http:ANY:a.example/**', false],
    ['*:*:*', 'http:ANY:a.example/**', true],
  ])('gives for the pattern %s and the covered pattern %s: %s', ([outer, inner, expected]) => {
    expect(coversAllOf(compilePattern(outer, false), compilePattern(inner, false))).toBe(expected);
  });

  test('is false for an exact rule and anything broader than the rule', () => {
    const exact = compilePattern('github:issues.create:*', true);

    expect(coversAllOf(exact, compilePattern('github:issues.create:*', false))).toBe(false);
    expect(coversAllOf(exact, exact)).toBe(true);
  });
});

test('a pattern with an encoded asterisk matches the key of a URL that contains an asterisk', () => {
  expect(
    matchesKey(
      compilePattern('http:GET:a.example/%2A', false),
      createHttpKey('GET', 'a.example', '/*'),
    ),
  ).toBe(true);
});

/**
 * The same by a regular expression: `*` is `[^/]*`, `**` is `.*`, a lone wildcard is anything. It
 * backtracks, so for short texts only.
 */
function matchesByRegExp(pattern: string, text: string): boolean {
  if (pattern === '*') return true;
  const parts = pattern.match(/\*+|[^*]/g) ?? [];
  const regExpSource = parts.map((part) =>
    part === '*' ? '[^/]*' : part.startsWith('*') ? '.*' : part,
  );
  return new RegExp(`^${regExpSource.join('')}$`, 's').test(text);
}
