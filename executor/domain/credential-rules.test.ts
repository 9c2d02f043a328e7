import { describe, expect, test } from 'vitest';

import type { Principal } from '#contracts/vocabulary';
import {
  checkSecretValue,
  findReferenced,
  maySeeCredential,
  mayWriteCredential,
  newHostsOf,
  parseHosts,
} from './credential-rules.ts';

const ann = '00000000-0000-7000-8000-00000000000a';
const bob = '00000000-0000-7000-8000-00000000000b';

function callerOf(kind: Principal['kind'], role: Principal['role']): Principal {
  return { kind, role, userId: ann } as Principal;
}

describe('who may write a secret', () => {
  const own = { tier: 'user', ownerId: ann } as const;
  const others = { tier: 'user', ownerId: bob } as const;
  const org = { tier: 'org', ownerId: null } as const;

  test.for<
    [kind: Principal['kind'], role: Principal['role'], own: boolean, others: boolean, org: boolean]
  >([
    ['user', 'admin', true, false, true],
    ['user', 'member', true, false, false],
    ['user', 'auditor', false, false, false],
    ['agent', null, false, false, false],
    ['subagent', null, false, false, false],
  ])('%s %s', ([kind, role, mayOwn, mayOthers, mayOrg]) => {
    const caller = callerOf(kind, role);

    expect([own, others, org].map((secret) => mayWriteCredential(caller, secret))).toEqual([
      mayOwn,
      mayOthers,
      mayOrg,
    ]);
  });

  test('an agent sees what its user can use, an auditor everything', () => {
    expect(
      [own, others, org].map((secret) => maySeeCredential(callerOf('agent', null), secret)),
    ).toEqual([true, false, true]);
    expect(maySeeCredential(callerOf('user', 'auditor'), others)).toBe(true);
    expect(maySeeCredential(callerOf('user', 'admin'), others)).toBe(false);
  });
});

describe('secret values and hosts', () => {
  test.for([
    'long\nenough',
    'value\r',
    'value\0',
    'value\u007f',
    'value\u0085',
    'value\ud800',
    'abc',
  ])('the value %j is refused', (value) => {
    expect(() => checkSecretValue(value)).toThrow(
      expect.objectContaining({ code: 'invalid_params' }),
    );
  });

  test('an error about a value does not repeat it', () => {
    expect(() => checkSecretValue('CANARY\n')).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('CANARY') }),
    );
  });

  test('hosts are written as they are compared', () => {
    expect(
      parseHosts(['API.example.com', 'api.example.com:443', 'bücher.example', '127.0.0.1:80']),
    ).toEqual(['api.example.com', 'xn--bcher-kva.example', '127.0.0.1:80']);
    expect(parseHosts(['[FD00::1]:8443', 'my_host'])).toEqual(['[fd00::1]:8443', 'my_host']);
  });

  test.for([
    '*.example.com',
    'https://a.example',
    'a.example/x',
    'u@a.example',
    'a.example.',
    '',
    'a b',
    'host!!',
    'a..example',
    '-a.example',
    'not a host!!',
    '[::1',
  ])('%j is no host', (host) => {
    expect(() => parseHosts([host])).toThrow(expect.objectContaining({ code: 'invalid_params' }));
  });
});

describe('where a credential may go', () => {
  const name = { kind: 'connection', reference: 'google' } as const;
  const own = { tier: 'user', ownerId: ann } as const;
  const many = Array.from({ length: 50 }, (_, at) => `h${at}.example.com`);

  test('grows by its owner alone, and not beyond fifty hosts', () => {
    const owner = callerOf('user', 'member');
    const grown = (allowedHosts: string[], hosts: string[], caller = owner) =>
      newHostsOf(caller, { ...own, allowedHosts }, { hosts, name });

    expect(grown(['a.example.com'], ['a.example.com', 'b.example.com'])).toEqual(['b.example.com']);
    expect(grown(many, many)).toEqual([]);
    expect(() => grown(many, ['one.example.com'])).toThrow(/as many hosts as one may \(50\)/);
    const agent = callerOf('agent', null);
    expect(grown(['a.example.com'], ['a.example.com'], agent)).toEqual([]);
    expect(() => grown([], ['a.example.com'], agent)).toThrow(/only its owner can change that/);
  });

  test('a name means the user’s own, else the org’s; org/ always the org’s', () => {
    const mine = { name: 'crm', tier: 'user' } as const;
    const ours = { name: 'crm', tier: 'org' } as const;

    expect(findReferenced([ours, mine], 'crm')).toBe(mine);
    expect(findReferenced([ours], 'crm')).toBe(ours);
    expect(findReferenced([ours, mine], 'org/crm')).toBe(ours);
    expect(findReferenced([mine], 'org/crm')).toBeUndefined();
    expect(findReferenced([mine, ours], 'other')).toBeUndefined();
  });
});
