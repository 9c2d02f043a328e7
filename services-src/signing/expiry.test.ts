import { expect, test } from 'vitest';

import { isEarly, isExpired, isRecent } from './expiry.ts';

const now = 1_700_000_000_000;

test.for([
  [-1, false],
  [0, false],
  [1_000, false],
  [1_001, true],
])('%i ms after its expiry time, a statement counts as expired: %s', ([after, expected]) => {
  expect(isExpired(now - (after as number), now)).toBe(expected);
});

test.for([
  [-1_001, false],
  [-1_000, true],
  [0, true],
  [5_000, true],
  [5_001, false],
])(
  '%i ms after it was issued, a statement with a maximum age of five seconds counts as recent: %s',
  ([age, expected]) => {
    expect(isRecent(now - (age as number), { ageMsMax: 5_000, now })).toBe(expected);
  },
);

test.for([
  [-1, false],
  [1_000, false],
  [1_001, true],
])('a statement that was issued %i ms in the future counts as early: %s', ([ms, expected]) => {
  expect(isEarly(now + (ms as number), now)).toBe(expected);
});

test('a statement that does not say when it was issued is not early', () => {
  expect(isEarly(undefined, now)).toBe(false);
});
