import { describe, expect, test } from 'vitest';

import { standingOf } from './identity.ts';
import type { LiveLink } from './identity.ts';

const active: LiveLink = {
  id: 'a',
  kind: 'agent',
  name: 'bot',
  inheritPermissions: false,
  status: 'active',
  expired: false,
  role: null,
};
const user: LiveLink = { ...active, kind: 'user', role: 'member' };
const auditor: LiveLink = { ...user, role: 'auditor' };
const archived: LiveLink = { ...active, status: 'archived' };
const revoked: LiveLink = { ...active, status: 'revoked' };
const expired: LiveLink = { ...active, expired: true };

describe('standing of a chain', () => {
  test.for<[rule: string, links: LiveLink[], expected: string]>([
    ['every link active', [active, active], 'active'],
    ['the agent of a user', [user, active], 'active'],
    ['an auditor', [auditor], 'active'],
    ['the agent of an auditor', [auditor, active], 'archived'],
    ['revoked below an auditor', [auditor, revoked], 'revoked'],
    ['itself archived', [active, archived], 'archived'],
    ['an ancestor archived', [archived, active], 'archived'],
    ['an ancestor revoked', [revoked, active], 'revoked'],
    ['itself expired', [active, expired], 'expired'],
    ['revoked below an archived ancestor', [archived, revoked], 'revoked'],
    ['expired below a revoked ancestor', [revoked, expired], 'revoked'],
    ['archived below an expired ancestor', [expired, archived], 'expired'],
  ])('%s', ([, links, expected]) => {
    expect(standingOf(links)).toBe(expected);
  });
});
