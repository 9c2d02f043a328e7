import { expect, test } from 'vitest';

import { callerLevelsOf } from './callers.ts';
import { MinuteShares } from './minute-shares.ts';

const levels = callerLevelsOf({
  SHARE_ORG_PERCENT: 80,
  SHARE_USER_PERCENT: 80,
  SHARE_IDENTITY_PERCENT: 80,
});

function createShares() {
  const clock = { ms: 0 };
  const shares = new MinuteShares({ capacity: 1_000, levels }, () => clock.ms);
  return { clock, shares };
}
const botPath = ['org', 'ann', 'bot'];

test('an amount that was used counts against the share for a minute', () => {
  const { clock, shares } = createShares();
  shares.use(botPath, 300);
  clock.ms = 30_000;
  shares.use(botPath, 300);
  expect(shares.refusalOf(botPath)).toBe('identity');

  clock.ms = 59_999;
  expect(shares.refusalOf(botPath)).toBe('identity');
  clock.ms = 60_000;
  expect(shares.refusalOf(botPath)).toBeNull();
  shares.use(botPath, 300);
  clock.ms = 120_000;
  shares.use(botPath, 500);
  expect(shares.refusalOf(botPath)).toBeNull();
});

test('an identity that used more than its share does not limit other callers', () => {
  const { shares } = createShares();
  shares.use(botPath, 600);

  expect(shares.refusalOf(botPath)).toBe('identity');
  for (const otherPath of [
    ['org', 'ann', 'x'],
    ['org', 'bob', 'x'],
    ['x', 'ann', 'bot'],
  ]) {
    expect(shares.refusalOf(otherPath)).toBeNull();
  }
});

test('many small amounts add up to a share that is used up', () => {
  const { clock, shares } = createShares();
  for (let n = 0; n < 600; n += 1) {
    clock.ms += 50;
    shares.use(botPath, 1);
  }
  expect(shares.refusalOf(botPath)).toBe('identity');
  clock.ms += 60_000;
  expect(shares.refusalOf(botPath)).toBeNull();
});
