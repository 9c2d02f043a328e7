import { pino } from 'pino';
import { expect, test, vi } from 'vitest';

import { watchReadiness } from './readiness.ts';
import type { Check } from './readiness.ts';

const logger = pino({ level: 'silent' });

/** A check that fails while `isFailing` is set, and counts how often it was run. */
function createCheck(name: string, { isOwn = true, isFailing = false } = {}) {
  const check = {
    name,
    isOwn,
    isFailing,
    runs: 0,
    run: async () => {
      check.runs += 1;
      if (check.isFailing) throw new Error('it fails');
    },
  };
  return check;
}

const watchChecks = (...checks: Check[]) => watchReadiness({ checks, logger, checkEveryMs: 20 });

test('a component is ready while all checks pass', async () => {
  await using readiness = await watchChecks(createCheck('database'), createCheck('bus'));

  expect(readiness.failing()).toEqual([]);
  expect(readiness.takesRequests()).toBe(true);
});

test('a single failure at the start makes a component not ready', async () => {
  await using readiness = await watchChecks(createCheck('database', { isFailing: true }));

  expect(readiness.failing()).toEqual(['database']);
});

test('failures with a success between them do not make a component not ready', async () => {
  let runs = 0;
  const alternatingCheck: Check = {
    name: 'database',
    isOwn: true,
    run: async () => {
      runs += 1;
      if (runs % 2 === 0) throw new Error('it fails');
    },
  };
  await using readiness = await watchChecks(alternatingCheck);
  const onChangeListener = vi.fn<() => void>();
  readiness.onChange(onChangeListener);

  await vi.waitFor(() => expect(runs).toBeGreaterThan(6), 30_000);

  expect(onChangeListener).not.toHaveBeenCalled();
  expect(readiness.failing()).toEqual([]);
});

test('two failures in a row make a component not ready until the check succeeds once', async () => {
  const check = createCheck('database');
  await using readiness = await watchChecks(check);
  const onChangeListener = vi.fn<() => void>();
  readiness.onChange(onChangeListener);

  check.isFailing = true;
  await vi.waitFor(() => expect(readiness.failing()).toEqual(['database']), 30_000);
  expect(readiness.takesRequests()).toBe(false);
  check.isFailing = false;
  await vi.waitFor(() => expect(readiness.failing()).toEqual([]), 30_000);
  expect(readiness.takesRequests()).toBe(true);

  expect(onChangeListener).toHaveBeenCalledTimes(2);
});

test('a component still takes requests when a check fails that all replicas would fail', async () => {
  const check = createCheck('bus', { isOwn: false, isFailing: true });
  await using readiness = await watchChecks(check);

  expect(readiness.failing()).toEqual(['bus']);
  expect(readiness.takesRequests()).toBe(true);
});

test('suspect() runs the checks at once', async () => {
  const check = createCheck('database');
  await using readiness = await watchReadiness({
    checks: [check],
    logger,
    checkEveryMs: 3_600_000,
  });

  check.isFailing = true;
  await vi.waitFor(() => {
    readiness.suspect();
    expect(readiness.failing()).toEqual(['database']);
  }, 30_000);
});

test('a component that is about to stop is not ready', async () => {
  await using readiness = await watchChecks(createCheck('database'));

  readiness.leave();

  expect(readiness.failing()).toEqual(['stopping']);
});
