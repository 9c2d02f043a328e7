import { describe, expect, test } from 'vitest';

import type { Principal } from '#contracts/vocabulary';
import { checkSecretValue, maySeeSecret, mayWriteSecret, parseHosts } from './secret-rules.ts';

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

    expect([own, others, org].map((secret) => mayWriteSecret(caller, secret))).toEqual([
      mayOwn,
      mayOthers,
      mayOrg,
    ]);
  });

  test('an agent sees what its user can use, an auditor everything', () => {
    expect(
      [own, others, org].map((secret) => maySeeSecret(callerOf('agent', null), secret)),
    ).toEqual([true, false, true]);
    expect(maySeeSecret(callerOf('user', 'auditor'), others)).toBe(true);
    expect(maySeeSecret(callerOf('user', 'admin'), others)).toBe(false);
  });
});

describe('secret values and hosts', () => {
  test.for(['a\nb', 'a\r', '\0', 'a\u007f', 'a\u0085', '\ud800'])(
    'the value %j is refused',
    (value) => {
      expect(() => checkSecretValue(value)).toThrow(
        expect.objectContaining({ code: 'invalid_params' }),
      );
    },
  );

  test('an error about a value does not repeat it', () => {
    expect(() => checkSecretValue('CANARY\n')).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('CANARY') }),
    );
  });

  test('hosts are written as they are compared', () => {
    expect(
      parseHosts(['API.example.com', 'api.example.com:443', 'bücher.example', '127.0.0.1:80']),
    ).toEqual(['api.example.com', 'xn--bcher-kva.example', '127.0.0.1:80']);
  });

  test.for([
    '*.example.com',
    'https://a.example',
    'a.example/x',
    'u@a.example',
    'a.example.',
    '',
    'a b',
  ])('%j is no host', (host) => {
    expect(() => parseHosts([host])).toThrow(expect.objectContaining({ code: 'invalid_params' }));
  });
});
