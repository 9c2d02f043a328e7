import { expect, test } from 'vitest';

import { isLastRefusal, retrySecondsAfter } from './refused-refreshes.ts';

const hours = 3_600;

test.for([
  [0, 0, false],
  [4, 0, false],
  [100, 6 * hours - 1, false],
  [3, 100 * hours, false],
  [4, 6 * hours, true],
  [100, 100 * hours, true],
] as const)(
  'after %i refusals, the first of them %i seconds ago, one more refusal ends the token: %s',
  ([count, seconds, isLast]) => {
    expect(isLastRefusal({ count, seconds })).toBe(isLast);
  },
);

test('each refusal doubles the time until the next attempt, up to five minutes', () => {
  expect([0, 1, 2, 5, 6, 1_000_000].map(retrySecondsAfter)).toEqual([5, 10, 20, 160, 300, 300]);
});
