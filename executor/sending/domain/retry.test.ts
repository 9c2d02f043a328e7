import { describe, expect, test } from 'vitest';

import type { ErrorCode } from '#errors';
import { createRetries } from '../../limits/retries.ts';
import { requestedWaitMsOf, isNonRead, retryDelayMsOf } from './retry.ts';

describe('retries', () => {
  test('are made only for reads without an answer, with growing pauses, and only when a retry may help', () => {
    const delayOf = (code: ErrorCode, attempt = 1, details = {}) =>
      retryDelayMsOf({ error: { code, details }, attempt, jitter: 0.5 });

    expect(delayOf('upstream_unreachable')).toBe(50);
    expect(delayOf('upstream_unreachable', 2)).toBe(150);
    expect(delayOf('upstream_unreachable', 1, { retry_after: 3 })).toBeUndefined();
    expect(delayOf('upstream_timeout')).toBeUndefined();
    expect(delayOf('upstream_refused_address')).toBeUndefined();
  });

  test.for<[status: number, value: string | undefined, waitMs: number | undefined]>([
    [429, '2', 2_000],
    [503, '0', 0],
    [503, 'Sat, 21 Nov 2026 12:00:02 GMT', 2_000],
    [503, 'Saturday, 21-Nov-26 12:00:01 GMT', 1_000],
    // A longer pause is left to the caller.
    [503, 'Sat, 21 Nov 2026 12:00:05 GMT', undefined],
    [429, '3', undefined],
    [429, '17', undefined],
    [429, 'Sat, 21 Nov 2026 11:00:00 GMT', 0],
    [429, undefined, undefined],
    [429, 'soon', undefined],
    [429, '-1', undefined],
    [429, '1.5', undefined],
    [429, '9'.repeat(40), undefined],
    [200, '2', undefined],
    [500, '2', undefined],
  ])(
    'wait, after status %s with Retry-After %j, %j ms (undefined: no retry)',
    ([status, value, waitMs]) => {
      const headers: [string, string][] = value === undefined ? [] : [['Retry-After', value]];
      const now = Date.parse('2026-11-21T12:00:00Z');

      expect(requestedWaitMsOf({ status, headers }, now)).toBe(waitMs);
    },
  );

  test('are not made when the wait is longer than the time for which the call may still be held', () => {
    const answer = { status: 429, headers: [['retry-after', '1'] as const] };
    expect(requestedWaitMsOf(answer, 0, 1_000)).toBe(1_000);
    expect(requestedWaitMsOf(answer, 0, 999)).toBeUndefined();
  });

  test('stay below a fifth of the requests, except for the first few', () => {
    const retries = createRetries();
    const budgetAfter = (requests: number) => {
      let count = 0;
      for (let n = 0; n < requests; n += 1) {
        retries.count('https://a.example');
        for (let retriesCount = 0; retriesCount < 2; retriesCount += 1)
          if (retries.spend('https://a.example')) count += 1;
      }
      return count;
    };

    expect(budgetAfter(100)).toBeLessThanOrEqual(30);
    expect(budgetAfter(1_000)).toBeLessThanOrEqual(200);
    expect(retries.spend('https://b.example')).toBe(true);
  });

  test('are made for reads only: the method or the risk makes a call a non-read', () => {
    expect(isNonRead('GET', false)).toBe(false);
    expect(isNonRead('GET', true)).toBe(true);
    expect(isNonRead('POST', false)).toBe(true);
  });
});
