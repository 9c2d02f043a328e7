import { describe, expect, test } from 'vitest';

import { publicEventTypes } from '#contracts/events';
import {
  createAgentPrincipal,
  createFeedItem,
  createUserPrincipal,
} from '../../principals.testing.ts';
import { formatEvent, maySeeEvent, parseEventTypes, parseLastEventId } from './event-filter.ts';

describe('the types parameter', () => {
  test('accepts event types, and families of types such as execution.*', () => {
    const ofApprovals = publicEventTypes.filter((type) => type.startsWith('approval.'));

    expect(parseEventTypes('approval.*, rule.created')).toEqual([...ofApprovals, 'rule.created']);
    expect(ofApprovals).toContain('approval.raised');
  });

  test.for([undefined, '', ' '])('with the value %j means all event types', (given) => {
    expect(parseEventTypes(given)).toBeNull();
  });

  test.for<[given: string, suggestion: string | undefined]>([
    ['approval.raise', 'approval.raised'],
    ['nonsense', undefined],
    ['approval.remembered', undefined],
    ['action.*', undefined],
    ['*', undefined],
  ])('with the value %j is refused with the suggestion %j', ([given, suggestion]) => {
    expect(() => parseEventTypes(given)).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        details: {
          issues: [
            expect.objectContaining({
              path: 'types',
              ...(suggestion ? { did_you_mean: suggestion } : {}),
            }),
          ],
        },
      }),
    );
  });
});

describe('an event', () => {
  const owner = createAgentPrincipal();
  const item = createFeedItem(owner, 1);
  const inOrg = { orgId: owner.orgId };

  test('is visible to the identities of its audience', () => {
    expect(maySeeEvent(owner, item)).toBe(true);
    expect(
      maySeeEvent({ ...createUserPrincipal(), ...inOrg, identityId: owner.userId }, item),
    ).toBe(true);
  });

  test('is visible to admins and auditors of the org', () => {
    expect(maySeeEvent({ ...createUserPrincipal('admin'), ...inOrg }, item)).toBe(true);
    expect(maySeeEvent({ ...createUserPrincipal('auditor'), ...inOrg }, item)).toBe(true);
  });

  test('is not visible to other identities or other orgs', () => {
    expect(maySeeEvent({ ...createUserPrincipal('member'), ...inOrg }, item)).toBe(false);
    expect(maySeeEvent({ ...createAgentPrincipal(), ...inOrg }, item)).toBe(false);
    expect(maySeeEvent(createUserPrincipal('admin'), item)).toBe(false);
    expect(maySeeEvent({ ...owner, orgId: createAgentPrincipal().orgId }, item)).toBe(false);
  });

  test('is not visible to anybody if it is internal', () => {
    const internalItem = createFeedItem(owner, 1, { type: 'approval.remembered' });

    expect(maySeeEvent(owner, internalItem)).toBe(false);
    expect(maySeeEvent({ ...createUserPrincipal('admin'), ...inOrg }, internalItem)).toBe(false);
  });
});

describe('an event on the wire', () => {
  test('has its position in the feed as its id, and does not contain its audience', () => {
    const item = createFeedItem(createAgentPrincipal(), 17, { data: { text: 'two\nlines' } });

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
  ])('is found again by the Last-Event-ID: %j means the position %j', ([given, position]) => {
    expect(parseLastEventId(given)).toBe(position);
  });

  test.for(['-1', '1.5', 'abc', '1e3', '9'.repeat(16)])(
    'is not found by an invalid Last-Event-ID, which is refused: %j',
    (eventsParameter) => {
      expect(() => parseLastEventId(eventsParameter)).toThrow(
        expect.objectContaining({ code: 'invalid_request' }),
      );
    },
  );
});
