import { describe, expect, test } from 'vitest';

import {
  formatAgo,
  formatCountdown,
  formatDuration,
  widestAgoMs,
  widestLeftMs,
} from './time-text.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

describe('a countdown', () => {
  test.each([
    [72 * hour, '3 days'],
    [51 * hour + 59 * minute, '2 days 3 h'],
    [47 * hour, '47 h'],
    [23 * hour + 41 * minute + 30 * second, '23 h 41 min'],
    [hour, '1 h'],
    [59 * minute + 59 * second, '59 min'],
    [10 * minute, '10 min'],
    [10 * minute - 1, '10:00'],
    [4 * minute + 7 * second, '4:07'],
    [1, '0:01'],
    [0, 'no time'],
    [-5, 'no time'],
  ])('of %d ms is written as "%s"', (leftMs, text) => {
    expect(formatCountdown(leftMs)).toBe(text);
  });
});

test('a text is never longer than the widest text with the same units', () => {
  for (let ms = minute; ms < 9 * 24 * hour; ms += 7 * minute) {
    const { length } = formatCountdown(ms);
    expect(length, `${ms}`).toBeLessThanOrEqual(formatCountdown(widestLeftMs(ms)).length);
    if (ms >= hour) continue;
    expect(formatAgo(ms).length).toBeLessThanOrEqual(formatAgo(widestAgoMs).length);
  }
});

describe('a time', () => {
  test.each([
    [-3 * second, 'just now'],
    [59 * second, 'just now'],
    [5 * minute, '5 min ago'],
    [3 * hour, '3 h ago'],
    [50 * hour, '2 days ago'],
  ])('%d ms ago is written as "%s"', (agoMs, text) => {
    expect(formatAgo(agoMs)).toBe(text);
  });
});

test.each([
  [83.6, '84 ms'],
  [1234, '1.2 s'],
])('a duration of %d ms is written as "%s"', (durationMs, text) => {
  expect(formatDuration(durationMs)).toBe(text);
});
