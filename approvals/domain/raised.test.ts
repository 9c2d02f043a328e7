import { describe, expect, test } from 'vitest';

import { findRaisedRefusal } from './raised.ts';
import type { RaisedLevel } from './raised.ts';

const none = { org: 0, user: 0, subtree: 0, requester: 0 };

describe('the approvals of an hour', () => {
  test.for<[who: string, counts: Partial<typeof none>, refusedBy: RaisedLevel | null]>([
    ['nobody', {}, null],
    ['an agent alone, up to a tenth', { requester: 199, subtree: 199, user: 199, org: 199 }, null],
    [
      'an agent alone, beyond a tenth',
      { requester: 200, subtree: 200, user: 200, org: 200 },
      'requester',
    ],
    ['its subagents with it', { requester: 0, subtree: 260, user: 260, org: 260 }, 'subtree'],
    ['all agents of a user, beyond a quarter', { user: 520, org: 520 }, 'user'],
    ['the whole org', { org: 2000 }, 'org'],
  ])('of %s', ([, counts, refusedBy]) => {
    expect(findRaisedRefusal({ ...none, ...counts }, 2_000)).toBe(refusedBy);
  });

  test('are not counted where the setting is 0', () => {
    expect(findRaisedRefusal({ org: 9e9, user: 9e9, subtree: 9e9, requester: 9e9 }, 0)).toBeNull();
  });
});
