import { describe, expect, test } from 'vitest';

import { standingOf } from './identity.ts';
import type { LiveLink } from './identity.ts';

const activeLink: LiveLink = {
  id: 'a',
  kind: 'agent',
  name: 'bot',
  inheritPermissions: false,
  status: 'active',
  expired: false,
  role: null,
};
const userInChain: LiveLink = { ...activeLink, kind: 'user', role: 'member' };
const auditorInChain: LiveLink = { ...userInChain, role: 'auditor' };
const archivedLink: LiveLink = { ...activeLink, status: 'archived' };
const revokedLink: LiveLink = { ...activeLink, status: 'revoked' };
const expiredLink: LiveLink = { ...activeLink, expired: true };

describe('whether the identities of a chain may act (standingOf)', () => {
  test.for<[rule: string, links: LiveLink[], expected: string]>([
    ['with only active links', [activeLink, activeLink], 'active'],
    ['of an agent of a member', [userInChain, activeLink], 'active'],
    ['of an auditor', [auditorInChain], 'active'],
    ['of an agent of an auditor', [auditorInChain, activeLink], 'archived'],
    ['of a revoked agent of an auditor', [auditorInChain, revokedLink], 'revoked'],
    ['of an archived identity', [activeLink, archivedLink], 'archived'],
    ['of an identity below an archived one', [archivedLink, activeLink], 'archived'],
    ['of an identity below a revoked one', [revokedLink, activeLink], 'revoked'],
    ['of an expired identity', [activeLink, expiredLink], 'expired'],
    ['of a revoked identity below an archived one', [archivedLink, revokedLink], 'revoked'],
    ['of an expired identity below a revoked one', [revokedLink, expiredLink], 'revoked'],
    ['of an archived identity below an expired one', [expiredLink, archivedLink], 'expired'],
  ])('the chain %s is $2', ([, links, expected]) => {
    expect(standingOf(links)).toBe(expected);
  });
});
