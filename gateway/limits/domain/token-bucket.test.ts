import { describe, expect, test } from 'vitest';

import { createFullBucket, takeTokens } from './token-bucket.ts';

const perMinute = (requests: number) => ({ requests, windowMs: 60_000 });

describe('a token bucket', () => {
  test('allows as many requests at once as its quota, and then single requests as it refills', () => {
    const bucket = createFullBucket(perMinute(60), 0);

    for (let remainingRequests = 59; remainingRequests >= 0; remainingRequests -= 1) {
      expect(takeTokens(bucket, perMinute(60), { nowMs: 0 })).toMatchObject({
        allowed: true,
        remaining: remainingRequests,
      });
    }
    expect(takeTokens(bucket, perMinute(60), { nowMs: 0 })).toMatchObject({
      allowed: false,
      retryAfterSeconds: 1,
    });
    expect(takeTokens(bucket, perMinute(60), { nowMs: 999 }).allowed).toBe(false);
    expect(takeTokens(bucket, perMinute(60), { nowMs: 1_000 }).allowed).toBe(true);
  });

  test('never holds more than its quota', () => {
    const bucket = createFullBucket(perMinute(2), 0);
    takeTokens(bucket, perMinute(2), { nowMs: 0 });

    expect(takeTokens(bucket, perMinute(2), { nowMs: 10_000_000 })).toMatchObject({
      allowed: true,
      remaining: 1,
    });
  });

  test('applies a quota that became smaller at once', () => {
    const bucket = createFullBucket(perMinute(600), 0);

    expect(takeTokens(bucket, perMinute(10), { nowMs: 0 })).toMatchObject({
      allowed: true,
      remaining: 9,
    });
  });

  test('tells when it will be full again and when the next request is allowed', () => {
    const bucket = createFullBucket(perMinute(1), 0);

    expect(takeTokens(bucket, perMinute(1), { nowMs: 0 }).resetSeconds).toBe(60);
    expect(takeTokens(bucket, perMinute(1), { nowMs: 15_000 })).toMatchObject({
      allowed: false,
      retryAfterSeconds: 45,
    });
  });

  test('ignores a clock that goes backwards', () => {
    const bucket = createFullBucket(perMinute(1), 1_000);
    takeTokens(bucket, perMinute(1), { nowMs: 1_000 });

    expect(takeTokens(bucket, perMinute(1), { nowMs: 0 }).allowed).toBe(false);
  });

  test('takes as many tokens as a request costs, and refuses the request while it has too few', () => {
    const bucket = createFullBucket(perMinute(60), 0);
    takeTokens(bucket, perMinute(60), { nowMs: 0, cost: 50 });

    expect(takeTokens(bucket, perMinute(60), { nowMs: 0, cost: 30 })).toMatchObject({
      allowed: false,
      remaining: 10,
      retryAfterSeconds: 20,
    });
    expect(takeTokens(bucket, perMinute(60), { nowMs: 20_000, cost: 30 }).allowed).toBe(true);
  });

  test('allows a request that costs more than the quota if it is full', () => {
    const bucket = createFullBucket(perMinute(10), 0);

    expect(takeTokens(bucket, perMinute(10), { nowMs: 0, cost: 57 })).toMatchObject({
      allowed: true,
      remaining: 0,
    });
    expect(takeTokens(bucket, perMinute(10), { nowMs: 59_000, cost: 57 }).allowed).toBe(false);
  });
});
