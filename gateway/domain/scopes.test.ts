import { randomUUID } from 'node:crypto';

import { expect, test } from 'vitest';

import type { Access } from '#contracts/http/define';
import type { Principal, Scope } from '#contracts/vocabulary';
import { mayUse } from './scopes.ts';

const all: Access[] = ['public', 'any', 'actions:read', 'actions:call', 'approvals', 'agents', 'user'];

test.for<[scopes: Scope[], opened: Access[]]>([
  [[], ['public', 'any']],
  [['actions:read'], ['public', 'any', 'actions:read']],
  [['actions:call'], ['public', 'any', 'actions:read', 'actions:call']],
  [['approvals'], ['public', 'any', 'approvals']],
  [['agents'], ['public', 'any', 'agents']],
  [['mcp'], ['public', 'any', 'actions:read', 'actions:call', 'approvals', 'agents']],
  [['user'], all],
])('the scopes %o open %o and nothing else', ([scopes, opened]) => {
  const claims = claimsOf({ scopes });

  expect(all.filter((access) => mayUse(claims, access))).toEqual(opened);
});

test('a dashboard session opens everything', () => {
  const claims = claimsOf({ credential: { kind: 'session', id: randomUUID(), clientId: null } });

  expect(all.every((access) => mayUse(claims, access))).toBe(true);
});

function claimsOf(given: Partial<Principal>): Principal {
  const id = randomUUID();
  return {
    orgId: id,
    identityId: id,
    kind: 'agent',
    userId: id,
    role: null,
    chain: [{ id, kind: 'agent', name: 'bot', inheritPermissions: false }],
    autoCallOnApprove: true,
    credential: { kind: 'agent_key', id, clientId: null },
    scopes: [],
    expiresAt: 0,
    ...given,
  };
}
