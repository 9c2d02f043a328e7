import { describe, expect, test } from 'vitest';

import { Breakers } from './breaker.ts';
import { mayHaveLeft } from './failures.ts';

function setUp(options = {}) {
  const clock = { now: 0 };
  const breakers = new Breakers(options, () => clock.now);
  const fail = (key: string, times = 1) => {
    for (let n = 0; n < times; n += 1) breakers.enter(key).failed();
  };
  const refusal = (key: string): { code?: string; details?: Record<string, unknown> } => {
    try {
      breakers.enter(key).undecided();
    } catch (error) {
      expect(mayHaveLeft(error)).toBe(false);
      return error as { code: string };
    }
    return {};
  };
  return { clock, breakers, fail, refusal };
}

describe('a circuit breaker', () => {
  test('opens after five failures in a row, and tells callers when to retry', () => {
    const { fail, refusal } = setUp();
    fail('a', 4);
    expect(refusal('a')).toEqual({});
    fail('a');

    expect(refusal('a')).toMatchObject({
      code: 'upstream_unreachable',
      details: { retry_after: 1 },
    });
    expect(refusal('b')).toEqual({});
  });

  test('counts only failures in a row', () => {
    const { breakers, fail, refusal } = setUp();
    fail('a', 4);
    breakers.enter('a').answered();
    fail('a', 4);

    expect(refusal('a')).toEqual({});
  });

  test('lets one probe through after the pause, and closes when the upstream answers the probe', () => {
    const { breakers, clock, fail, refusal } = setUp();
    fail('a', 5);
    clock.now = 1_001;
    const probe = breakers.enter('a');
    expect(refusal('a').code).toBe('upstream_unreachable');
    probe.answered();

    expect(refusal('a')).toEqual({});
    fail('a', 4);
    expect(refusal('a')).toEqual({});
  });

  test('waits twice as long after each probe that fails, up to 30 s', () => {
    const { breakers, clock, fail, refusal } = setUp();
    fail('a', 5);
    const waits = [];
    for (let round = 0; round < 8; round += 1) {
      waits.push(Number(refusal('a').details?.['retry_after']));
      clock.now += 30_001;
      breakers.enter('a').failed();
    }

    expect(waits).toEqual([1, 2, 4, 8, 16, 30, 30, 30].map(() => expect.any(Number)));
    waits.forEach((wait, round) => {
      const mostOpenings = Math.min(2 ** round, 30);
      expect(wait).toBeLessThanOrEqual(mostOpenings);
      expect(wait).toBeGreaterThanOrEqual(Math.floor(mostOpenings * 0.75));
    });
  });

  test('lets the next request probe when the previous probe showed nothing about the upstream', () => {
    const { breakers, clock, fail, refusal } = setUp();
    fail('a', 5);
    clock.now = 1_001;
    breakers.enter('a').undecided();
    const probe = breakers.enter('a');

    expect(refusal('a').code).toBe('upstream_unreachable');
    probe.failed();
  });

  test('does not count failures of requests that were sent before the circuit opened, and closes when the upstream answers such a request', () => {
    const { breakers, clock, fail, refusal } = setUp();
    const earlyEntries = Array.from({ length: 20 }, () => breakers.enter('a'));
    fail('a', 5);
    for (const attempt of earlyEntries.slice(1)) attempt.failed();
    clock.now = 1_001;
    breakers.enter('a').undecided();
    earlyEntries[0]?.answered();

    expect(refusal('a')).toEqual({});
    expect(refusal('a')).toEqual({});
  });

  test('remembers a limited number of origins', () => {
    const { fail, refusal } = setUp({ originsMax: 3 });
    for (const key of ['a', 'b', 'c', 'd']) fail(key, 5);

    expect(refusal('a')).toEqual({});
    for (const key of ['b', 'c', 'd']) expect(refusal(key).code).toBe('upstream_unreachable');
  });
});
