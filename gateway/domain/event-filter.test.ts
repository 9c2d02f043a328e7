import { describe, expect, test } from 'vitest';

import { agent, feedItemOf, user } from '../principals.testing.ts';
import { formatEvent, maySee, parseEventTypes, parseLastEventId } from './event-filter.ts';

describe('types=', () => {
  test('names types and families', () => {
    expect(parseEventTypes('approval.*, rule.created')).toEqual([
      'approval.raised',
      'approval.bubbled',
      'approval.resolved',
      'rule.created',
    ]);
  });

  test.for([undefined, '', ' '])('%s means all', (given) => {
    expect(parseEventTypes(given)).toBeNull();
  });

  test.for<[given: string, meant: string | undefined]>([
    ['approval.raise', 'approval.raised'],
    ['nonsense', undefined],
    ['approval.remembered', undefined],
    ['action.*', undefined],
    ['*', undefined],
  ])('%s is refused', ([given, meant]) => {
    expect(() => parseEventTypes(given)).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        details: {
          issues: [
            expect.objectContaining({ path: 'types', ...(meant ? { did_you_mean: meant } : {}) }),
          ],
        },
      }),
    );
  });
});

describe('who may see an event', () => {
  const owner = agent();
  const item = feedItemOf(owner, 1);
  const inOrg = { orgId: owner.orgId };

  test('the identities of its audience', () => {
    expect(maySee(owner, item)).toBe(true);
    expect(maySee({ ...user(), ...inOrg, identityId: owner.userId }, item)).toBe(true);
  });

  test('admins and auditors of the org', () => {
    expect(maySee({ ...user('admin'), ...inOrg }, item)).toBe(true);
    expect(maySee({ ...user('auditor'), ...inOrg }, item)).toBe(true);
  });

  test('nobody else, and no other org', () => {
    expect(maySee({ ...user('member'), ...inOrg }, item)).toBe(false);
    expect(maySee({ ...agent(), ...inOrg }, item)).toBe(false);
    expect(maySee(user('admin'), item)).toBe(false);
    expect(maySee({ ...owner, orgId: agent().orgId }, item)).toBe(false);
  });

  test('nobody at all when it is internal', () => {
    const internal = feedItemOf(owner, 1, { type: 'approval.remembered' });

    expect(maySee(owner, internal)).toBe(false);
    expect(maySee({ ...user('admin'), ...inOrg }, internal)).toBe(false);
  });
});

describe('an event on the wire', () => {
  test('has its position as id, and does not say who else sees it', () => {
    const item = feedItemOf(agent(), 17, { data: { text: 'two\nlines' } });

    const text = formatEvent(item);

    expect(text).toMatch(/^id: 17\nevent: approval\.raised\ndata: \{.*\}\n\n$/);
    const body = JSON.parse(text.split('data: ')[1] ?? '') as object;
    expect(Object.keys(body)).toEqual(['id', 'type', 'created_at', 'org_id', 'data']);
  });

  test.for<[given: string | undefined, position: number | null]>([
    ['17', 17],
    ['0', 0],
    ['', null],
    [undefined, null],
  ])('Last-Event-ID %s', ([given, position]) => {
    expect(parseLastEventId(given)).toBe(position);
  });

  test.for(['-1', '1.5', 'abc', '1e3', '9'.repeat(16)])('Last-Event-ID %s is refused', (given) => {
    expect(() => parseLastEventId(given)).toThrow(
      expect.objectContaining({ code: 'invalid_request' }),
    );
  });
});
