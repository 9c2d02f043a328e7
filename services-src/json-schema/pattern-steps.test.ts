import { describe, expect, test } from 'vitest';

import { BoundedRegExp, TooCostly } from './bounded-regexp.ts';
import { stepsOf } from './pattern-steps.ts';

describe('the estimated steps of matching a regular expression', () => {
  test.for<[pattern: string, loops: number]>([
    ['^[a-z]+$', 1],
    ['^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', 0],
    ['^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(Z|[+-]\\d\\d:\\d\\d)$', 0],
    ['^https://', 0],
    ['https://', 1],
    ['a+b', 2],
    ['^a|b', 1],
    ['^[a-z0-9_-]*/[a-z0-9_.-]*[a-z0-9_-][a-z0-9_.-]*$', 3],
    ['^(?:abc)*$', 1],
    ['^[\\]+*]$', 0],
    ['^\\u{1f600}+\\p{L}*$', 2],
    ['^(a+b){2}$', 2],
  ])('for %s grow with the length of the text to the power of %i', ([pattern, loops]) => {
    const steps = stepsOf(pattern);

    expect(Math.round(Math.log2(steps(16_383) / steps(8_191)))).toBe(loops);
  });

  test.for([
    '^(a+)+$',
    '^(a|a)*$',
    '(a*)*b',
    '^(\\w+\\s?)*$',
    '^(a)\\1*$',
    '(?<x>a+)+',
    ')(',
    '(?i:a)',
  ])('for %s are unbounded', (pattern) => {
    expect(stepsOf(pattern)(30)).toBe(Infinity);
  });

  test.for([`^${'a?'.repeat(60)}${'a'.repeat(60)}$`, `^${'(?:a|a)'.repeat(60)}$`, '^(a|a){60}$'])(
    'for %s are too many to run',
    (pattern) => {
      expect(stepsOf(pattern)(60)).toBeGreaterThan(1e15);
    },
  );

  test.for(['^(?:\\p{1,})+$', '^(?:\\u{1,})+$', '^(\\P{0,9}){40}$'])(
    'for %s outside Unicode mode count `p` and `u` as repeated letters',
    (pattern) => {
      expect(stepsOf(pattern, false)(40)).toBeGreaterThan(1e15);
    },
  );

  test('are also bounded for a regular expression that Unicode mode does not accept', () => {
    for (const pattern of ['^(?:\\p{1,})+$', '^(?:\\u{1,})+$', '^[\\w\\-](?:\\p{1,})+$']) {
      const text = (pattern.includes('u') ? 'u' : 'p').repeat(20);
      expect(() => new BoundedRegExp(pattern, 'u').test(`${text}!`)).toThrow(TooCostly);
    }
  });
});
