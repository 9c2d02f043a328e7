import { describe, expect, test } from 'vitest';

import type { Connection } from '#contracts/http/connections';
import { anApproval } from './fixtures.testing.ts';
import { namesToLookUp, refusedCredentialsOf } from './refused-credentials.ts';

const ann = { id: 'ann', role: 'member' } as const;
const admin = { id: 'ann', role: 'admin' } as const;
const refusedAt = '2026-05-01T09:00:00.000Z';

const approvalWith = (...names: { kind: 'secret' | 'connection'; name: string }[]) => {
  const approval = anApproval();
  const credentials = names.map((each) => ({ ...each, in: 'header' as const, key: 'X-Key' }));
  return { ...approval, request: { ...approval.request, credentials } };
};
const connection = (differences: Partial<Connection>) =>
  ({
    id: 'c1',
    name: 'github',
    tier: 'user',
    owner_id: 'ann',
    refused_at: refusedAt,
    ...differences,
  }) as Connection;
const secret = (differences: object = {}) => ({
  name: 'token',
  tier: 'user' as const,
  owner_id: 'ann',
  refused_at: refusedAt,
  ...differences,
});

describe('the refused credentials of a call', () => {
  test('are listed with the page on which their owner can connect them again', () => {
    const approval = approvalWith(
      { kind: 'connection', name: 'github' },
      { kind: 'secret', name: 'token' },
    );
    const stored = { secrets: [secret()], connections: [connection({})] };
    expect(refusedCredentialsOf(ann, approval, stored)).toEqual([
      { kind: 'secret', name: 'token', refusedAt, repairPath: null },
      { kind: 'connection', name: 'github', refusedAt, repairPath: '/connect/repair/c1' },
    ]);
  });

  test.for([
    ['a member', ann, null],
    ['an admin', admin, '/connect/repair/c1'],
  ] as const)(
    'include one of the org, which only an admin can connect again: %s',
    ([, me, repairPath]) => {
      const approval = approvalWith({ kind: 'connection', name: 'org/github' });
      const connections = [connection({ tier: 'org', owner_id: null })];
      expect(refusedCredentialsOf(me, approval, { secrets: [], connections })).toEqual([
        { kind: 'connection', name: 'org/github', refusedAt, repairPath },
      ]);
    },
  );

  test('do not include a working credential, or one with the same name in the other tier', () => {
    const approval = approvalWith({ kind: 'secret', name: 'token' });
    for (const differences of [{ refused_at: null }, { tier: 'org', owner_id: null }]) {
      const stored = { secrets: [secret(differences) as never], connections: [] };
      expect(refusedCredentialsOf(ann, approval, stored)).toEqual([]);
    }
  });

  test('do not include the viewer’s own credential if the call uses one of another user', () => {
    const approval = {
      ...approvalWith({ kind: 'secret', name: 'token' }),
      may_resolve: ['somebody'],
    };
    expect(namesToLookUp(admin, approval)).toEqual({ secrets: [], connections: [] });
    const stored = { secrets: [secret()], connections: [] };
    expect(refusedCredentialsOf(admin, approval, stored)).toEqual([]);
  });
});
