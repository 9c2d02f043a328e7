import { describe, expect, test } from 'vitest';

import { firstResolver, nextResolver } from './ladder.ts';
import type { LadderStep } from './ladder.ts';

const step = (id: string, covers: boolean): LadderStep => ({
  id,
  covers,
  kind: id === 'user' ? 'user' : 'agent',
  name: id,
});

describe('firstResolver', () => {
  test.for<[rule: string, ladder: LadderStep[], straightToUser: boolean, expected: string]>([
    [
      'the nearest ancestor that covers',
      [step('sub', true), step('agent', true), step('user', true)],
      false,
      'sub',
    ],
    [
      'an ancestor that does not cover is passed over',
      [step('sub', false), step('agent', true), step('user', true)],
      false,
      'agent',
    ],
    [
      'nobody covers: the user',
      [step('sub', false), step('agent', false), step('user', false)],
      false,
      'user',
    ],
    [
      'straight to the user',
      [step('sub', true), step('agent', true), step('user', true)],
      true,
      'user',
    ],
    ['a ladder of the user alone', [step('user', false)], false, 'user'],
  ])('%s', ([, ladder, straightToUser, expected]) => {
    expect(firstResolver(ladder, { straightToUser }).id).toBe(expected);
  });
});

describe('nextResolver', () => {
  const ladder = [step('sub', true), step('agent', false), step('user', false)];

  test.for<[rule: string, current: string, expected: string | undefined]>([
    ['skips who does not cover, up to the user', 'sub', 'user'],
    ['goes on from who does not cover', 'agent', 'user'],
    ['ends at the user', 'user', undefined],
    ['starts below somebody who is no step', 'stranger', 'sub'],
  ])('%s', ([, current, expected]) => {
    expect(nextResolver(ladder, current)?.id).toBe(expected);
  });
});
