import { describe, expect, test } from 'vitest';

import { fullBucket, takeToken } from './token-bucket.ts';

const perMinute = (requests: number) => ({ requests, windowMs: 60_000 });

describe('a token bucket', () => {
  test('gives a whole quota at once, and then one at a time', () => {
    const bucket = fullBucket(perMinute(60), 0);

    for (let left = 59; left >= 0; left -= 1) {
      expect(takeToken(bucket, perMinute(60), 0)).toMatchObject({ allowed: true, remaining: left });
    }
    expect(takeToken(bucket, perMinute(60), 0)).toMatchObject({
      allowed: false,
      retryAfterSeconds: 1,
    });
    expect(takeToken(bucket, perMinute(60), 999).allowed).toBe(false);
    expect(takeToken(bucket, perMinute(60), 1_000).allowed).toBe(true);
  });

  test('never holds more than its quota', () => {
    const bucket = fullBucket(perMinute(2), 0);
    takeToken(bucket, perMinute(2), 0);

    expect(takeToken(bucket, perMinute(2), 10_000_000)).toMatchObject({
      allowed: true,
      remaining: 1,
    });
  });

  test('follows a quota that shrinks', () => {
    const bucket = fullBucket(perMinute(600), 0);

    expect(takeToken(bucket, perMinute(10), 0)).toMatchObject({ allowed: true, remaining: 9 });
  });

  test('says when it will be whole again, and when the next request may come', () => {
    const bucket = fullBucket(perMinute(1), 0);

    expect(takeToken(bucket, perMinute(1), 0).resetSeconds).toBe(60);
    expect(takeToken(bucket, perMinute(1), 15_000)).toMatchObject({
      allowed: false,
      retryAfterSeconds: 45,
    });
  });

  test('is not fooled by a clock that goes back', () => {
    const bucket = fullBucket(perMinute(1), 1_000);
    takeToken(bucket, perMinute(1), 1_000);

    expect(takeToken(bucket, perMinute(1), 0).allowed).toBe(false);
  });
});
