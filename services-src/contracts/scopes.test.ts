import { expect, test } from 'vitest';

import type { Access } from '#contracts/http/define';
import type { Scope } from '#contracts/vocabulary';
import { createAgentPrincipal, createUserPrincipal } from '../../gateway/principals.testing.ts';
import { mayUseRoute } from './scopes.ts';

const allAccess: Access[] = [
  'public',
  'any',
  'actions:read',
  'actions:call',
  'approvals',
  'agents',
  'user',
];

test.for<[scopes: Scope[], opened: Access[]]>([
  [[], ['public', 'any']],
  [['actions:read'], ['public', 'any', 'actions:read']],
  [['actions:call'], ['public', 'any', 'actions:read', 'actions:call']],
  [['approvals'], ['public', 'any', 'approvals']],
  [['agents'], ['public', 'any', 'agents']],
  [['mcp'], ['public', 'any', 'actions:read', 'actions:call', 'approvals', 'agents']],
  [['user'], allAccess],
])('the scopes %j give access to routes of the kinds %j and nothing else', ([scopes, opened]) => {
  const claims = { ...createAgentPrincipal(), scopes };

  expect(allAccess.filter((access) => mayUseRoute(claims, access))).toEqual(opened);
});

test('a dashboard session gives access to routes of every kind', () => {
  expect(allAccess.every((access) => mayUseRoute(createUserPrincipal(), access))).toBe(true);
});
