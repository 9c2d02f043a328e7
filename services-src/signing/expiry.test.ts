import { expect, test } from 'vitest';

import { isExpired, isRecent } from './expiry.ts';

const now = 1_700_000_000_000;

test.for([
  [-1, false],
  [0, false],
  [1_000, false],
  [1_001, true],
])('%i ms after its end a statement is expired: %s', ([after, expected]) => {
  expect(isExpired(now - (after as number), now)).toBe(expected);
});

test.for([
  [-1_001, false],
  [-1_000, true],
  [0, true],
  [5_000, true],
  [5_001, false],
])('%i ms after it was issued a statement of five seconds is recent: %s', ([age, expected]) => {
  expect(isRecent(now - (age as number), { ageMsMax: 5_000, now })).toBe(expected);
});
