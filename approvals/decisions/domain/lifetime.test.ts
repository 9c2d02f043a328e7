import { describe, expect, test } from 'vitest';

import { outlivesAuthority } from './lifetime.ts';

const now = new Date('2026-01-01T00:00:00Z');
const inHours = (hours: number) => new Date(now.getTime() + hours * 3_600_000);

describe('a remembered rule lasts longer than the authority of its decider', () => {
  test.for<[rule: string, ttl: number | 'default', until: Date | null, expected: boolean]>([
    ['for a ttl longer than the authority', 7_200, inHours(1), true],
    [
      'for a ttl as long as the authority, because clocks differ',
      3_600,
      new Date(inHours(1).getTime() - 900),
      false,
    ],
    ['for a ttl shorter than the authority', 600, inHours(1), false],
    ['for an authority that never ends', 7_200, null, false],
    ['for the default ttl, which policy shortens', 'default', inHours(1), false],
  ])('%s: $3', ([, ttl, until, expected]) => {
    expect(outlivesAuthority(ttl, { authorityEndsAt: until, nowMs: now.getTime() })).toBe(expected);
  });
});
