import { describe, expect, test } from 'vitest';

import { buildLadder, findPlacement } from './placement.ts';
import { chainOf } from './walk.testing.ts';

describe('the placement of a remembered permission (findPlacement)', () => {
  test.for<[name: string, chain: string[], expected: string]>([
    ['is the requester itself when the requester is an agent', ['ann', 'bot'], 'bot'],
    ['is an agent, even if its flag says that it inherits', ['ann', 'bot+'], 'bot'],
    [
      'is the requester itself when the requester is a subagent that does not inherit',
      ['ann', 'bot', 'sub'],
      'sub',
    ],
    ['is the agent above the requester when the requester inherits', ['ann', 'bot', 'sub+'], 'bot'],
    [
      'is the nearest subagent above the requester that does not inherit',
      ['ann', 'bot', 'sub', 'leaf+'],
      'sub',
    ],
    ['is the agent above several subagents that inherit', ['ann', 'bot', 'sub+', 'leaf+'], 'bot'],
  ])('%s', ([, chain, expected]) => {
    expect(findPlacement(chainOf(...chain)).id).toBe(expected);
  });
});

describe('the list of ancestors that may decide (buildLadder)', () => {
  const ladderOf = (...names: string[]) =>
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
  ])(
    'for the chain %j (+: inherits), with whether their authority covers the call, is %j',
    ([chain, expected]) => {
      expect(ladderOf(...chain)).toEqual(expected);
    },
  );
});
