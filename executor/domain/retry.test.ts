import { describe, expect, test } from 'vitest';

import type { ErrorCode } from '#errors';
import { createRetries } from '../retries.ts';
import { askedToWaitMs, isNonRead, retryDelayMs } from './retry.ts';

describe('retries', () => {
  test('are for reads that were not answered, later each time, and not when that would not help', () => {
    const delayOf = (code: ErrorCode, attempt = 1, details = {}) =>
      retryDelayMs({ error: { code, details }, attempt, jitter: 0.5 });

    expect(delayOf('upstream_unreachable')).toBe(50);
    expect(delayOf('upstream_unreachable', 2)).toBe(150);
    expect(delayOf('upstream_unreachable', 1, { retry_after: 3 })).toBeUndefined();
    expect(delayOf('upstream_timeout')).toBeUndefined();
    expect(delayOf('upstream_refused_address')).toBeUndefined();
  });

  test.for<[status: number, value: string | undefined, waitMs: number | undefined]>([
    [429, '2', 2_000],
    [503, '0', 0],
    [503, 'Sat, 21 Nov 2026 12:00:05 GMT', 5_000],
    [503, 'Saturday, 21-Nov-26 12:00:05 GMT', 5_000],
    [429, 'Sat, 21 Nov 2026 11:00:00 GMT', 0],
    [429, undefined, undefined],
    [429, 'soon', undefined],
    [429, '-1', undefined],
    [429, '1.5', undefined],
    [429, '9'.repeat(40), undefined],
    [200, '2', undefined],
    [500, '2', undefined],
  ])('%s with Retry-After %s is asked again after %s', ([status, value, waitMs]) => {
    const headers: [string, string][] = value === undefined ? [] : [['Retry-After', value]];
    const now = Date.parse('2026-11-21T12:00:00Z');

    expect(askedToWaitMs({ status, headers }, now)).toBe(waitMs);
  });

  test('stay below a fifth of the requests, but for a few', () => {
    const retries = createRetries();
    const spent = (requests: number) => {
      let count = 0;
      for (let n = 0; n < requests; n += 1) {
        retries.count('https://a.example');
        for (let again = 0; again < 2; again += 1)
          if (retries.spend('https://a.example')) count += 1;
      }
      return count;
    };

    expect(spent(100)).toBeLessThanOrEqual(30);
    expect(spent(1_000)).toBeLessThanOrEqual(200);
    expect(retries.spend('https://b.example')).toBe(true);
  });

  test('a non-read is one by its method or by its risk', () => {
    expect(isNonRead('GET', false)).toBe(false);
    expect(isNonRead('GET', true)).toBe(true);
    expect(isNonRead('POST', false)).toBe(true);
  });
});
