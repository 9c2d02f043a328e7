import { describe, expect, test } from 'vitest';

import { nextAttemptInSeconds, parseRetryAfter, retryAfterSeconds } from './schedule.ts';

describe('nextAttemptInSeconds', () => {
  test('follows the schedule within a tenth either way, and then ends', () => {
    for (const [index, base] of retryAfterSeconds.entries()) {
      for (const random of [0, 0.5, 0.999]) {
        const next = nextAttemptInSeconds({ attempts: index + 1, random, retryAfter: null });
        expect(next).toBeGreaterThanOrEqual(base * 0.9);
        expect(next).toBeLessThan(base * 1.1);
      }
    }
    const exhausted = { attempts: retryAfterSeconds.length + 1, random: 0.5, retryAfter: null };
    expect(nextAttemptInSeconds(exhausted)).toBeNull();
  });

  test.for<[asked: number, expected: number]>([
    [1, 5], // less than the schedule: the schedule
    [120, 120], // more: what was asked for
    [1e9, 86_400], // never more than a day
  ])('a Retry-After of %i s gives %i s after the first failure', ([retryAfter, expected]) => {
    expect(nextAttemptInSeconds({ attempts: 1, random: 0.5, retryAfter })).toBe(expected);
  });
});

describe('parseRetryAfter', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');

  test.for<[value: string | undefined, expected: number | null]>([
    [undefined, null],
    ['120', 120],
    ['Thu, 01 Jan 2026 00:01:00 GMT', 60],
    ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
    ['soon', null],
    ['-5x', null],
  ])('%s is %s', ([value, expected]) => {
    expect(parseRetryAfter(value, now)).toBe(expected);
  });
});
