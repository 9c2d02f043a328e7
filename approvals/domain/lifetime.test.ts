import { describe, expect, test } from 'vitest';

import { outlives } from './lifetime.ts';

const now = new Date('2026-01-01T00:00:00Z');
const inHours = (hours: number) => new Date(now.getTime() + hours * 3_600_000);

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
