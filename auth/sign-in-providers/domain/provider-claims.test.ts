import { describe, expect, test } from 'vitest';

import { findAdmissionProblem, readClaims } from './provider-claims.ts';

const domainRules = { allowedEmailDomains: ['acme.example'], allowedGroups: [] };
const groupRules = { allowedEmailDomains: [], allowedGroups: ['gateway', 'ops'] };
const bothRules = { ...domainRules, allowedGroups: ['gateway'] };
const noRules = { allowedEmailDomains: [], allowedGroups: [] };
const verifiedClaimsOf = (email: string, otherClaims: object = {}) => ({
  sub: '1',
  email,
  email_verified: true,
  ...otherClaims,
});

describe('sign-in through a provider', () => {
  test.for([
    ['a verified address in the allowed domain', verifiedClaimsOf('ann@acme.example'), domainRules],
    ['the allowed domain in capital letters', verifiedClaimsOf('Ann@ACME.Example'), domainRules],
    ['one of the allowed groups', { sub: '1', groups: ['x', 'ops'] }, groupRules],
    ['a single group as text', { sub: '1', groups: 'ops' }, groupRules],
    [
      'an allowed domain and an allowed group',
      verifiedClaimsOf('a@acme.example', { groups: ['gateway'] }),
      bothRules,
    ],
  ] as const)('admits a new user with %s', ([, claims, rules]) => {
    expect(findAdmissionProblem(readClaims(claims), rules, { isKnown: false })).toBeNull();
  });

  test.for([
    ['an unverified address', { sub: '1', email: 'a@acme.example' }, domainRules],
    [
      'an address whose email_verified is text',
      { ...verifiedClaimsOf('a@acme.example'), email_verified: 'true' },
      domainRules,
    ],
    [
      'an address in a subdomain of the allowed domain',
      verifiedClaimsOf('a@mail.acme.example'),
      domainRules,
    ],
    [
      'an address in a domain that only ends with the allowed domain',
      verifiedClaimsOf('a@evilacme.example'),
      domainRules,
    ],
    [
      'the allowed domain in the local part',
      verifiedClaimsOf('a@acme.example@evil.example'),
      domainRules,
    ],
    ['no e-mail address', { sub: '1' }, domainRules],
    ['no group', { sub: '1' }, groupRules],
    ['only other groups', { sub: '1', groups: ['Ops', 'gateway2'] }, groupRules],
    ['groups of a wrong type', { sub: '1', groups: { ops: true } }, groupRules],
    ['the allowed domain but no allowed group', verifiedClaimsOf('a@acme.example'), bothRules],
    ['the allowed group but no allowed domain', { sub: '1', groups: ['gateway'] }, bothRules],
  ] as const)('refuses a new user and an existing user with %s', ([, claims, rules]) => {
    for (const isKnown of [true, false]) {
      expect(findAdmissionProblem(readClaims(claims), rules, { isKnown })).toMatch(/\.$/);
    }
  });

  test('admits only existing users if the provider has no admission rules', () => {
    const claims = readClaims(verifiedClaimsOf('a@acme.example', { groups: ['gateway'] }));
    expect(findAdmissionProblem(claims, noRules, { isKnown: false })).toMatch(/access/);
    expect(findAdmissionProblem(claims, noRules, { isKnown: true })).toBeNull();
  });
});
