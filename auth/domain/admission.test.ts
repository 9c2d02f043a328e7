import { describe, expect, test } from 'vitest';

import { findAdmissionProblem, readClaims } from './admission.ts';

const domains = { allowedEmailDomains: ['acme.example'], allowedGroups: [] };
const groups = { allowedEmailDomains: [], allowedGroups: ['gateway', 'ops'] };
const both = { ...domains, allowedGroups: ['gateway'] };
const neither = { allowedEmailDomains: [], allowedGroups: [] };
const verified = (email: string, more: object = {}) => ({
  sub: '1',
  email,
  email_verified: true,
  ...more,
});

describe('by a provider', () => {
  test.for([
    ['a verified address of the domain', verified('ann@acme.example'), domains],
    ['the domain in capitals', verified('Ann@ACME.Example'), domains],
    ['one of the groups', { sub: '1', groups: ['x', 'ops'] }, groups],
    ['a group given as text', { sub: '1', groups: 'ops' }, groups],
    ['domain and group', verified('a@acme.example', { groups: ['gateway'] }), both],
  ] as const)('comes in who has %s', ([, claims, rules]) => {
    expect(findAdmissionProblem(readClaims(claims), rules, { isKnown: false })).toBeNull();
  });

  test.for([
    ['an address nobody verified', { sub: '1', email: 'a@acme.example' }, domains],
    [
      'an address verified as text',
      { ...verified('a@acme.example'), email_verified: 'true' },
      domains,
    ],
    ['a subdomain', verified('a@mail.acme.example'), domains],
    ['a domain that only ends alike', verified('a@evilacme.example'), domains],
    ['the domain in the local part', verified('a@acme.example@evil.example'), domains],
    ['no address', { sub: '1' }, domains],
    ['no group', { sub: '1' }, groups],
    ['another group', { sub: '1', groups: ['Ops', 'gateway2'] }, groups],
    ['groups that are none', { sub: '1', groups: { ops: true } }, groups],
    ['the domain without the group', verified('a@acme.example'), both],
    ['the group without the domain', { sub: '1', groups: ['gateway'] }, both],
  ] as const)('stays out, known or not, who has %s', ([, claims, rules]) => {
    for (const isKnown of [true, false]) {
      expect(findAdmissionProblem(readClaims(claims), rules, { isKnown })).toMatch(/\.$/);
    }
  });

  test('without rules only those come in who are known', () => {
    const claims = readClaims(verified('a@acme.example', { groups: ['gateway'] }));
    expect(findAdmissionProblem(claims, neither, { isKnown: false })).toMatch(/access/);
    expect(findAdmissionProblem(claims, neither, { isKnown: true })).toBeNull();
  });
});
