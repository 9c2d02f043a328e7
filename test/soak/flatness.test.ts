import { expect, test } from 'vitest';

import { judgeFlatness } from './flatness.ts';

const tolerance = { factor: 1.1, slack: 5, by: 'highest' } as const;

test.for<[what: string, series: number[], isFlat: boolean]>([
  ['grows at first and then stays', [0, 50, 90, 100, 101, 99, 100, 102], true],
  ['goes up and down', [0, 100, 0, 100, 0, 100, 0, 100], true],
  ['grows all the time', [10, 20, 30, 40, 50, 60, 70, 80], false],
  ['grows in the last quarter alone', [10, 10, 10, 10, 10, 10, 10, 40], false],
  ['grows by less than is tolerated', [0, 0, 0, 0, 0, 0, 0, 4], true],
])('a series is judged flat or growing correctly if it %s', ([, series, isFlat]) => {
  expect(judgeFlatness('it', series, tolerance).isFlat).toBe(isFlat);
});

test('a tolerance for the lowest values ignores peaks, such as memory before a garbage collection', () => {
  const by = 'lowest' as const;
  expect(judgeFlatness('it', [0, 0, 0, 0, 10, 90, 12, 400], { ...tolerance, by }).isFlat).toBe(
    true,
  );
  expect(judgeFlatness('it', [0, 0, 0, 0, 10, 90, 40, 90], { ...tolerance, by }).isFlat).toBe(
    false,
  );
});
