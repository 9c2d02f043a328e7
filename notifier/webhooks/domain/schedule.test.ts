import { describe, expect, test } from 'vitest';

import { nextAttemptInSeconds, parseRetryAfter, retryAfterSeconds } from './schedule.ts';

describe('the wait before the next attempt', () => {
  test('follows the schedule with 10 % of jitter, and is null after the last retry', () => {
    for (const [index, base] of retryAfterSeconds.entries()) {
      for (const random of [0, 0.5, 0.999]) {
        const nextSeconds = nextAttemptInSeconds({ attempts: index + 1, random, retryAfter: null });
        expect(nextSeconds).toBeGreaterThanOrEqual(base * 0.9);
        expect(nextSeconds).toBeLessThan(base * 1.1);
      }
    }
    const exhausted = { attempts: retryAfterSeconds.length + 1, random: 0.5, retryAfter: null };
    expect(nextAttemptInSeconds(exhausted)).toBeNull();
  });

  test.for<[asked: number, expected: number]>([
    [1, 5], // A Retry-After shorter than the schedule has no effect.
    [120, 120], // A longer Retry-After is honoured.
    [1e9, 86_400], // A Retry-After is capped at one day.
  ])('is, with a Retry-After of %i s after the first failure, %i s', ([retryAfter, expected]) => {
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
  ])('reads the header %j as %j seconds', ([value, expected]) => {
    expect(parseRetryAfter(value, now)).toBe(expected);
  });
});
