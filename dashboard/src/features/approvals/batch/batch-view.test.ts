import { describe, expect, test } from 'vitest';

import type { ApprovalResponse } from '#contracts/http/approvals';
import type { Me } from '#contracts/http/identities';
import { anApproval } from '../fixtures.testing.ts';
import {
  areAlike,
  compareCalls,
  isBatchable,
  runBounded,
  shownCommonFields,
} from './batch-view.ts';

const me = { id: 'ann', role: 'member' } as Me;
const withRequest = (request: Partial<ApprovalResponse['request']>) =>
  anApproval({ request: { ...anApproval().request, ...request } });

describe('a call can be decided together with others', () => {
  test.each<[string, ApprovalResponse, boolean]>([
    ['if it writes', anApproval(), true],
    ['if it reads', anApproval({ risk: 'low' }), true],
    ['not if it deletes', anApproval({ risk: 'high' }), false],
    ['not if it is too large to be shown', withRequest({ too_large: true }), false],
    ['not if it goes to an address', anApproval({ service: 'http' }), false],
    ['not if it names method and path', anApproval({ permission_keys: ['http:POST:a/b'] }), false],
    ['not if it is of an MCP tool', withRequest({ method: 'tools/call' }), false],
    ['not if its card is not verified', anApproval({ verified: false }), false],
    ['not once it is decided', anApproval({ status: 'denied' }), false],
    [
      'not by people who may not decide it',
      anApproval({ relationship: 'not_in_your_chain' }),
      false,
    ],
  ])('%s', (_, approval, expected) => {
    expect(isBatchable(me, approval)).toBe(expected);
  });

  test('not by an auditor', () => {
    expect(isBatchable({ ...me, role: 'auditor' }, anApproval())).toBe(false);
  });

  test('only with calls of the same requester, service and action', () => {
    const one = anApproval();
    const other = { ...one.requester, id: 'other' };
    expect(areAlike(one, anApproval({ action_description: 'Another' }))).toBe(true);
    expect(areAlike(one, anApproval({ requester: other }))).toBe(false);
    expect(areAlike(one, anApproval({ service: 'org/github' }))).toBe(false);
    expect(areAlike(one, anApproval({ action: 'close_issue' }))).toBe(false);
  });
});

describe('a comparison of the selected calls', () => {
  const call = (id: string, title: string, params: object) =>
    anApproval({
      id,
      disclosed: [
        { label: 'Repository', value: 'acme/site', truncated: false },
        { label: 'Title', value: title, truncated: false },
      ],
      request: { ...anApproval().request, params: { ...params } },
    });

  test('lists the differing values, disclosed or not', () => {
    const comparison = compareCalls([
      call('1', 'One', { title: 'One', silent: false }),
      call('2', 'Two', { title: 'Two', silent: true }),
    ]);
    expect(shownCommonFields(comparison)).toEqual([
      { label: 'Repository', value: 'acme/site' },
      { label: 'Account', value: 'none' },
    ]);
    expect(comparison.differing.get('2')).toEqual([
      { label: 'Title', value: 'Two' },
      { label: ' silent', value: 'true' },
    ]);
  });

  test('lists a field as different if only some calls have it', () => {
    const comparison = compareCalls([call('1', 'One', {}), call('2', 'One', { draft: true })]);
    expect(comparison.differing.get('1')).toEqual([]);
    expect(comparison.differing.get('2')).toEqual([{ label: ' draft', value: 'true' }]);
  });
});

test('runBounded runs a few tasks at a time, and each task once', async () => {
  let running = 0;
  let most = 0;
  const done: number[] = [];
  await runBounded([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
    running += 1;
    most = Math.max(most, running);
    await Promise.resolve();
    done.push(item);
    running -= 1;
  });
  expect(done.toSorted((one, other) => one - other)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(most).toBe(3);
});
