import { beforeEach, describe, expect, test } from 'vitest';

import type { Connection } from '#contracts/http/connections';
import { dropDraft, keepDraft, takeDraft, templateVersionOf } from './draft.ts';
import type { Draft } from './draft.ts';

const page = '/requests/1';
const stored = new Map<string, string>();
beforeEach(() => {
  stored.clear();
  globalThis.sessionStorage = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
    removeItem: (key: string) => void stored.delete(key),
  } as Storage;
});

const draft: Draft = {
  state: 'away',
  connectionId: 'c1',
  grantedAt: '2026-01-01T00:00:00.000Z',
  template: 'global 1',
  wayAt: 0,
  name: 'notes',
  tier: 'user',
  readsAtOnce: true,
  variables: {},
  baseUrl: '',
  secrets: {},
};
const account = (fields: Partial<Connection>) =>
  ({ id: 'c1', status: 'active', granted_at: draft.grantedAt, ...fields }) as Connection;
const grantedNow = account({ granted_at: '2026-01-02T00:00:00.000Z' });

describe('a person who comes back from the provider', () => {
  test('counts as connected if access was granted meanwhile; the page then continues by itself once', () => {
    keepDraft(page, draft);
    expect(takeDraft(page, [grantedNow])).toMatchObject({ isGranted: true, isRefused: false });
    expect(takeDraft(page, [grantedNow])).toMatchObject({
      isGranted: false,
      isRefused: false,
      connectionId: 'c1',
      name: 'notes',
    });
  });

  test.for<[string, Connection[]]>([
    ['an account that was not granted access again', [account({})]],
    ['an account whose access has ended', [account({ ...grantedNow, status: 'needs_reauth' })]],
    [
      'an account of an earlier release, without the time of the grant',
      [account({ granted_at: null })],
    ],
    ['no account', []],
    ['another account', [{ ...grantedNow, id: 'c2' }]],
  ])('with %s counts as having refused, also after a reload', ([, accounts]) => {
    keepDraft(page, draft);
    expect(takeDraft(page, accounts)).toMatchObject({ isGranted: false, isRefused: true });
    expect(takeDraft(page, [grantedNow])).toMatchObject({ isGranted: false, isRefused: true });
  });
});

test('a draft belongs to one page, and is gone once it is dropped', () => {
  keepDraft(page, { ...draft, state: 'back' });
  expect(takeDraft('/requests/2', [])).toBeNull();
  expect(takeDraft(page, [])).toMatchObject({ isGranted: false, isRefused: false });
  dropDraft(page);
  expect(takeDraft(page, [])).toBeNull();
});

test('versions of templates with equal numbers differ if their tiers differ', () => {
  expect(templateVersionOf({ tier: 'org', version: 2 })).not.toBe(
    templateVersionOf({ tier: 'global', version: 2 }),
  );
});
