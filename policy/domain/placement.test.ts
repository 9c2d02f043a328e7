import { describe, expect, test } from 'vitest';

import { buildLadder, findPlacement } from './placement.ts';
import { chainOf } from './walk.testing.ts';

describe('findPlacement', () => {
  test.for<[name: string, chain: string[], expected: string]>([
    ['the requester itself', ['ann', 'bot'], 'bot'],
    ['an agent, whatever its flag says', ['ann', 'bot+'], 'bot'],
    ['a subagent that does not inherit', ['ann', 'bot', 'sub'], 'sub'],
    ['the agent above one that does', ['ann', 'bot', 'sub+'], 'bot'],
    ['the nearest above that does not', ['ann', 'bot', 'sub', 'leaf+'], 'sub'],
    ['past several that do', ['ann', 'bot', 'sub+', 'leaf+'], 'bot'],
  ])('%s', ([, chain, expected]) => {
    expect(findPlacement(chainOf(...chain)).id).toBe(expected);
  });
});

describe('buildLadder', () => {
  const ladder = (...names: string[]) =>
    buildLadder(chainOf(...names), ({ id }) => id === 'bot').map(({ id, covers }) => [id, covers]);

  test.for<[chain: string[], expected: [string, boolean][]]>([
    [['ann', 'bot'], [['ann', true]]],
    [
      ['ann', 'bot', 'sub'],
      [
        ['bot', true],
        ['ann', true],
      ],
    ],
    [
      ['ann', 'bot', 'sub', 'leaf'],
      [
        ['sub', false],
        ['bot', true],
        ['ann', true],
      ],
    ],
    [
      ['ann', 'bot', 'sub+', 'leaf'],
      [
        ['bot', true],
        ['ann', true],
      ],
    ],
  ])('of %s', ([chain, expected]) => {
    expect(ladder(...chain)).toEqual(expected);
  });
});
