import { expect, test } from 'vitest';

import { callerLevels } from './callers.ts';
import { MinuteShares } from './minute-shares.ts';

const levels = callerLevels({
  SHARE_ORG_PERCENT: 80,
  SHARE_USER_PERCENT: 80,
  SHARE_IDENTITY_PERCENT: 80,
});

function start() {
  const clock = { ms: 0 };
  const shares = new MinuteShares({ capacity: 1_000, levels }, () => clock.ms);
  return { clock, shares };
}
const bot = ['org', 'ann', 'bot'];

test('what was used counts for a minute, and then no more', () => {
  const { clock, shares } = start();
  shares.use(bot, 300);
  clock.ms = 30_000;
  shares.use(bot, 300);
  expect(shares.refusalOf(bot)).toBe('identity');

  clock.ms = 59_999;
  expect(shares.refusalOf(bot)).toBe('identity');
  clock.ms = 60_000;
  expect(shares.refusalOf(bot)).toBeNull();
  shares.use(bot, 300);
  clock.ms = 120_000;
  shares.use(bot, 500);
  expect(shares.refusalOf(bot)).toBeNull();
});

test('one that used more than its share hinders nobody else', () => {
  const { shares } = start();
  shares.use(bot, 600);

  expect(shares.refusalOf(bot)).toBe('identity');
  for (const other of [
    ['org', 'ann', 'x'],
    ['org', 'bob', 'x'],
    ['x', 'ann', 'bot'],
  ]) {
    expect(shares.refusalOf(other)).toBeNull();
  }
});

test('much in little pieces is counted as much', () => {
  const { clock, shares } = start();
  for (let n = 0; n < 600; n += 1) {
    clock.ms += 50;
    shares.use(bot, 1);
  }
  expect(shares.refusalOf(bot)).toBe('identity');
  clock.ms += 60_000;
  expect(shares.refusalOf(bot)).toBeNull();
});
