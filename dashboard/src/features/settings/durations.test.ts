import { expect, test } from 'vitest';

import { durationsWith, formatSeconds } from './durations.ts';

test.for<[seconds: number, text: string]>([
  [0, 'no time'],
  [1, '1 second'],
  [300, '5 minutes'],
  [5_400, '1 hour 30 minutes'],
  [86_400, '1 day'],
  [2_592_000, '30 days'],
  [90_061, '1 day 1 hour 1 minute 1 second'],
])('%i seconds are shown as: %s', ([seconds, text]) => {
  expect(formatSeconds(seconds)).toBe(text);
});

test('an unusual current value is added to the choices, in the right order', () => {
  expect(durationsWith(400, [300, 3600])).toEqual([300, 400, 3600]);
  expect(durationsWith(300, [300, 3600])).toEqual([300, 3600]);
});
