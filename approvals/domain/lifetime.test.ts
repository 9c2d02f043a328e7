import { describe, expect, test } from 'vitest';

import { outlives, ruleExpiry } from './lifetime.ts';

const now = new Date('2026-01-01T00:00:00Z');
const inHours = (hours: number) => new Date(now.getTime() + hours * 3_600_000);

describe('ruleExpiry', () => {
  test.for<
    [rule: string, ttl: number | 'default' | 'forever', until: Date | null, expected: Date | null]
  >([
    ['the ttl asked for', 3_600, null, inHours(1)],
    ["the org's default", 'default', null, inHours(720)],
    ['a user may give it no end', 'forever', null, null],
    ["an agent's rule ends with the rule it holds the key by", 7_200, inHours(1), inHours(1)],
    ['so does the default', 'default', inHours(24), inHours(24)],
    ['an authority that lasts longer changes nothing', 3_600, inHours(24), inHours(1)],
  ])('%s', ([, ttl, until, expected]) => {
    expect(ruleExpiry(ttl, now, { until, defaultTtlSeconds: 720 * 3_600 })).toEqual(expected);
  });
});

describe('outlives', () => {
  test.for<[rule: string, ttl: number | 'default', until: Date | null, expected: boolean]>([
    ['longer than the authority', 7_200, inHours(1), true],
    [
      'as long as the authority, for clocks that differ',
      3_600,
      new Date(inHours(1).getTime() - 900),
      false,
    ],
    ['shorter than the authority', 600, inHours(1), false],
    ['an authority without end', 7_200, null, false],
    ['a default is shortened, not refused', 'default', inHours(1), false],
  ])('%s: %s', ([, ttl, until, expected]) => {
    expect(outlives(ttl, { until, nowMs: now.getTime() })).toBe(expected);
  });
});
