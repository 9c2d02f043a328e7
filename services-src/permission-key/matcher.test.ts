import { describe, expect, test } from 'vitest';

import { cpuMsOf } from '../../test/support/cpu.ts';
import { createMatcher } from './matcher.ts';

describe('the matcher of a rule', () => {
  test.for<[pattern: string, exact: boolean, key: string, expected: boolean]>([
    ['github:issues.create:acme/site', true, 'github:issues.create:acme/site', true],
    ['github:issues.create:acme/site', true, 'github:issues.create:acme/api', false],
    ['github:issues.create:*', true, 'github:issues.create:acme/site', false],
    ['github:issues.create:*', true, 'github:issues.create:*', true],
    ['github:issues.create:*', false, 'github:issues.create:acme/site', true],
    ['github:issues.create:*', false, 'github:issues.close:acme/site', false],
    ['github:*:*', false, 'github:issues.close:acme/site', true],
    ['github:*:*', false, 'gitlab:issues.close:acme/site', false],
    ['github:issues.create:acme/*', false, 'github:issues.create:acme/site', true],
    ['github:issues.create:acme/*', false, 'github:issues.create:acme/a/b', false],
    ['github:issues.create:acme/**', false, 'github:issues.create:acme/a/b', true],
    ['github:issues.create:acme/**/end', false, 'github:issues.create:acme/a/b/end', true],
    ['github:issues.create:acme/**/end', false, 'github:issues.create:acme/a/b/ending', false],
    ['http:GET:api.example.com/**', false, 'http:GET:api.example.com/v1/x', true],
    ['http:GET:api.example.com/**', false, 'http:POST:api.example.com/v1/x', false],
    ['http:GET:api.example.com/**', false, 'http:GET:api.example.com.evil.com/v1', false],
    ['http:ANY:api.example.com/**', false, 'http:DELETE:api.example.com/v1/x', true],
    ['http:ANY:api.example.com:8443/**', false, 'http:GET:api.example.com:8443/', true],
    ['github:ANY:x', false, 'github:GET:x', false],
    ['github', false, 'github:a:b', false],
    ['github:a:b', false, 'github', false],
  ])(
    'decides that the pattern %s (exact: %s) matches the key %s: %s',
    ([pattern, exact, key, expected]) => {
      expect(createMatcher({ pattern, exact })(key)).toBe(expected);
    },
  );

  test('compares a rule with hundreds of long keys without reading them to their ends', () => {
    const keys = Array.from(
      { length: 200 },
      (_, at) => `http:GET:a.example/${'x'.repeat(4_000)}${at}`,
    );
    const findMatches = () =>
      keys.every(createMatcher({ pattern: 'http:ANY:a.example/**', exact: false }));

    const readKeys = () =>
      keys.every((key) => {
        for (let at = 0; at < key.length; at += 1) if (key.charCodeAt(at) === 0) return false;
        return true;
      });

    expect(findMatches()).toBe(true);
    expect(cpuMsOf(findMatches)).toBeLessThan(cpuMsOf(readKeys));
  });

  test('ends quickly for a pattern and a key that were written to make matching slow', () => {
    const pattern = `a:b:${'*a'.repeat(500)}b`;

    expect(createMatcher({ pattern, exact: false })(`a:b:${'a'.repeat(4000)}`)).toBe(false);
  });
});
