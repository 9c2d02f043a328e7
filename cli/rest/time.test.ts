import { expect, test } from 'vitest';

import { exitCodes } from '../exit-codes.ts';
import { readTime, checkTtl, readWaitTime } from './time.ts';

const hourMs = 3_600_000;

test.each([
  '2027-01-31T00:00:00Z',
  '2027-01-31T00:00:00.5+02:00',
  '2027-01-31t00:00:00 02:00',
  '2024-02-29T00:00:00z',
])('the time %s is sent as it is written', (time) => {
  expect(readTime(time, '--expires', 'from now')).toBe(time);
});

test.each([
  ['30m', hourMs / 2],
  ['24h', 24 * hourMs],
  ['7d', 168 * hourMs],
  ['1d12h', 36 * hourMs],
])('the duration %s is added to the present time, or taken from it', (duration, ms) => {
  const before = Date.now();
  const later = Date.parse(readTime(duration, '--expires', 'from now') ?? '');
  const earlier = Date.parse(readTime(duration, '--since', 'ago') ?? '');
  const after = Date.now();
  expect(later).toBeGreaterThanOrEqual(before + ms);
  expect(later).toBeLessThanOrEqual(after + ms);
  expect(earlier).toBeGreaterThanOrEqual(before - ms);
  expect(earlier).toBeLessThanOrEqual(after - ms);
});

test.each([
  '',
  'tomorrow',
  '24',
  '-1h',
  '12h1d',
  '5w',
  '999999999d',
  '2027-01-31',
  '2027-01-31T00:00:00',
  '2027-02-30T00:00:00Z',
  '2027-13-01T00:00:00Z',
])('%j is no time, and the refusal names the forms', (text) => {
  const refusal = expect.objectContaining({
    exitCode: exitCodes.usage,
    message:
      '--since takes a date and time such as 2027-01-31T00:00:00Z, or a time ago such as 30m, 24h or 7d.',
  });
  expect(() => readTime(text, '--since', 'ago')).toThrow(refusal);
});

test.each([
  ['90', 90_000],
  ['90s', 90_000],
  ['5m', 300_000],
  ['1h', hourMs],
  ['7d', 168 * hourMs],
  ['1h30m', 1.5 * hourMs],
])('the time %s is waited for %i milliseconds', (time, ms) => {
  expect(readWaitTime(time)).toBe(ms);
});

test.each(['', '-1s', '1.5h', '9999999999s'])('the time %j is not waited for', (time) => {
  expect(() => readWaitTime(time)).toThrow('--wait takes a time such as 90s');
});

test('a time to remember is a duration and nothing else', () => {
  for (const ttl of ['24h', '30m', '7d', '1d12h', '31536000s']) checkTtl(ttl);
  for (const ttl of ['', '24', 'forever', '2027-01-31T00:00:00Z']) {
    expect(() => checkTtl(ttl)).toThrow('--ttl takes a time such as 30m, 24h, 7d or 1d12h.');
  }
});
