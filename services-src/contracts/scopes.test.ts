import { expect, test } from 'vitest';

import type { Access } from '#contracts/http/define';
import type { Scope } from '#contracts/vocabulary';
import { agent, user } from '../../gateway/principals.testing.ts';
import { mayUse } from './scopes.ts';

const all: Access[] = [
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
  [['user'], all],
])('the scopes %o open %o and nothing else', ([scopes, opened]) => {
  const claims = { ...agent(), scopes };

  expect(all.filter((access) => mayUse(claims, access))).toEqual(opened);
});

test('a dashboard session opens everything', () => {
  expect(all.every((access) => mayUse(user(), access))).toBe(true);
});
