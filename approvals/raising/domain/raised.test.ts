import { describe, expect, test } from 'vitest';

import { findRaisedRefusal } from './raised.ts';
import type { RaisedLevel } from './raised.ts';

const zeroCounts = { org: 0, user: 0, subtree: 0, requester: 0 };

describe('the hourly limit of approvals of an org', () => {
  test.for<[who: string, counts: Partial<typeof zeroCounts>, refusedBy: RaisedLevel | null]>([
    ['lets a requester raise its first approval', {}, null],
    [
      'lets a requester raise fewer than a tenth of the limit',
      { requester: 199, subtree: 199, user: 199, org: 199 },
      null,
    ],
    [
      'refuses a requester that has raised a tenth of the limit',
      { requester: 200, subtree: 200, user: 200, org: 200 },
      'requester',
    ],
    [
      'refuses an agent when it and its subagents have raised an eighth of the limit',
      { requester: 0, subtree: 260, user: 260, org: 260 },
      'subtree',
    ],
    [
      'refuses a user whose agents have raised a quarter of the limit',
      { user: 520, org: 520 },
      'user',
    ],
    ['refuses everybody when the org has used up the limit', { org: 2000 }, 'org'],
  ])('%s', ([, counts, refusedBy]) => {
    expect(findRaisedRefusal({ ...zeroCounts, ...counts }, 2_000)).toBe(refusedBy);
  });

  test('does not apply when the setting is 0', () => {
    expect(findRaisedRefusal({ org: 9e9, user: 9e9, subtree: 9e9, requester: 9e9 }, 0)).toBeNull();
  });
});
