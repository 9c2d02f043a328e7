import { describe, expect, test } from 'vitest';

import { firstResolverOf, findNextResolver } from './ladder.ts';
import type { LadderStep } from './ladder.ts';

const createStep = (id: string, covers: boolean): LadderStep => ({
  id,
  covers,
  kind: id === 'user' ? 'user' : 'agent',
  name: id,
});

describe('the first resolver of an approval', () => {
  test.for<[rule: string, ladder: LadderStep[], straightToUser: boolean, expected: string]>([
    [
      'is the nearest ancestor whose authority covers the call',
      [createStep('sub', true), createStep('agent', true), createStep('user', true)],
      false,
      'sub',
    ],
    [
      'is not an ancestor whose authority does not cover the call',
      [createStep('sub', false), createStep('agent', true), createStep('user', true)],
      false,
      'agent',
    ],
    [
      'is the user when the authority of no other ancestor covers the call',
      [createStep('sub', false), createStep('agent', false), createStep('user', false)],
      false,
      'user',
    ],
    [
      'is the user when every approval goes straight to the user',
      [createStep('sub', true), createStep('agent', true), createStep('user', true)],
      true,
      'user',
    ],
    [
      'is the user when the requester has no other ancestor',
      [createStep('user', false)],
      false,
      'user',
    ],
  ])('%s', ([, ladder, straightToUser, expected]) => {
    expect(firstResolverOf(ladder, { straightToUser }).id).toBe(expected);
  });
});

describe('the resolver to whom an approval is handed up', () => {
  const ladder = [createStep('sub', true), createStep('agent', false), createStep('user', false)];

  test.for<[rule: string, current: string, expected: string | undefined]>([
    ['is the user when the authority of no ancestor in between covers the call', 'sub', 'user'],
    [
      'is the user when the authority of the present resolver does not cover the call either',
      'agent',
      'user',
    ],
    ['does not exist when the user already has to decide', 'user', undefined],
    [
      'is the nearest ancestor when the present resolver is no ancestor of the requester',
      'stranger',
      'sub',
    ],
  ])('%s', ([, current, expected]) => {
    expect(findNextResolver(ladder, current)?.id).toBe(expected);
  });
});
