import { describe, expect, test } from 'vitest';

import type { Principal } from '#contracts/vocabulary';
import {
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

describe('the right to write or see a credential', () => {
  const ownSecret = { tier: 'user', ownerId: ann } as const;
  const othersSecret = { tier: 'user', ownerId: bob } as const;
  const org = { tier: 'org', ownerId: null } as const;

  test.for<
    [kind: Principal['kind'], role: Principal['role'], own: boolean, others: boolean, org: boolean]
  >([
    ['user', 'admin', true, false, true],
    ['user', 'member', true, false, false],
    ['user', 'auditor', false, false, false],
    ['agent', null, false, false, false],
    ['subagent', null, false, false, false],
  ])(
    'lets a caller of kind %s and role %s write its own user’s: %s, another user’s: %s, and the org’s: %s',
    ([kind, role, mayOwn, mayOthers, mayOrg]) => {
      const caller = callerOf(kind, role);

      expect(
        [ownSecret, othersSecret, org].map((secret) => mayWriteCredential(caller, secret)),
      ).toEqual([mayOwn, mayOthers, mayOrg]);
    },
  );

  test('lets an agent see what its user can use, and an auditor see all', () => {
    expect(
      [ownSecret, othersSecret, org].map((secret) =>
        maySeeCredential(callerOf('agent', null), secret),
      ),
    ).toEqual([true, false, true]);
    expect(maySeeCredential(callerOf('user', 'auditor'), othersSecret)).toBe(true);
    expect(maySeeCredential(callerOf('user', 'admin'), othersSecret)).toBe(false);
  });
});

describe('the hosts of a secret', () => {
  test('are stored in the form in which they are compared', () => {
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
  ])('may not be %j', (host) => {
    expect(() => parseHosts([host])).toThrow(expect.objectContaining({ code: 'invalid_params' }));
  });
});

describe('the hosts and the name of a credential', () => {
  const name = { kind: 'connection', reference: 'google' } as const;
  const ownSecret = { tier: 'user', ownerId: ann } as const;
  const fiftyHosts = Array.from({ length: 50 }, (_, at) => `h${at}.example.com`);

  test('can get up to fifty hosts, and only from the credential’s owner', () => {
    const owner = callerOf('user', 'member');
    const findNewHosts = (allowedHosts: string[], hosts: string[], caller = owner) =>
      newHostsOf(caller, { ...ownSecret, allowedHosts }, { hosts, name });

    expect(findNewHosts(['a.example.com'], ['a.example.com', 'b.example.com'])).toEqual([
      'b.example.com',
    ]);
    expect(findNewHosts(fiftyHosts, fiftyHosts)).toEqual([]);
    expect(() => findNewHosts(fiftyHosts, ['one.example.com'])).toThrow(
      /as many hosts as one may \(50\)/,
    );
    const agent = callerOf('agent', null);
    expect(findNewHosts(['a.example.com'], ['a.example.com'], agent)).toEqual([]);
    expect(() => findNewHosts([], ['a.example.com'], agent)).toThrow(
      /only its owner can change that/,
    );
  });

  test('are found by name, first among the user’s own credentials and then among the org’s, or with org/ only among the org’s', () => {
    const mine = { name: 'crm', tier: 'user' } as const;
    const orgSecret = { name: 'crm', tier: 'org' } as const;

    expect(findReferenced([orgSecret, mine], 'crm')).toBe(mine);
    expect(findReferenced([orgSecret], 'crm')).toBe(orgSecret);
    expect(findReferenced([orgSecret, mine], 'org/crm')).toBe(orgSecret);
    expect(findReferenced([mine], 'org/crm')).toBeUndefined();
    expect(findReferenced([mine, orgSecret], 'other')).toBeUndefined();
  });
});
