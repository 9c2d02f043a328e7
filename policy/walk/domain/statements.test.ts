import { describe, expect, test } from 'vitest';

import { mayGoTo, parseBaseUrl } from '../../services/domain/hosts.ts';
import { dispatchIdOf } from './statements.ts';

describe('the dispatch id of a call (dispatchIdOf)', () => {
  const call = { identityId: 'bot', idempotencyKey: 'key-1', nonRead: true };

  test('is the same for the same identity and idempotency key', () => {
    expect(dispatchIdOf(call, 'jti-1')).toBe(dispatchIdOf(call, 'jti-2'));
    expect(dispatchIdOf(call, 'jti-1')).toMatch(/^idem-[0-9a-f]{64}$/);
  });

  test.for<[name: string, other: Partial<typeof call>]>([
    ['another identity', { identityId: 'other' }],
    ['another idempotency key', { idempotencyKey: 'key-2' }],
  ])('differs for %s', ([, other]) => {
    expect(dispatchIdOf({ ...call, ...other }, 'jti')).not.toBe(dispatchIdOf(call, 'jti'));
  });

  test('does not depend on the idempotency key of a read, nor on an absent key', () => {
    expect(dispatchIdOf({ ...call, nonRead: false }, 'jti-1')).toBe('jti-1');
    expect(dispatchIdOf({ ...call, idempotencyKey: null }, 'gap-1')).toBe('gap-1');
  });
});

describe('where a secret may be sent (mayGoTo)', () => {
  const ownCredential = { reference: 'token', allowedHosts: ['a.example'] };
  const unrestrictedSecret = { reference: 'token', allowedHosts: [] };

  test.for<
    [
      name: string,
      secret: typeof ownCredential | typeof unrestrictedSecret,
      host: string,
      isKeyed: boolean,
      expected: boolean,
    ]
  >([
    ['to a host on the list of the secret', ownCredential, 'a.example', false, true],
    ['not to another host, even with a permission key', ownCredential, 'b.example', true, false],
    ['not to another port of a host on the list', ownCredential, 'a.example:8443', true, false],
    ['not to a subdomain of a host on the list', ownCredential, 'x.a.example', true, false],
    [
      'to any host when the secret has no list and the call has a permission key',
      unrestrictedSecret,
      'b.example',
      true,
      true,
    ],
    [
      'to no host when the secret has no list and the call has no permission key',
      unrestrictedSecret,
      'b.example',
      false,
      false,
    ],
    [
      'to no host when the secret has no list and belongs to the org',
      { ...unrestrictedSecret, reference: 'org/token' },
      'b.example',
      true,
      false,
    ],
  ])('%s', ([, secret, host, isKeyed, expected]) => {
    expect(mayGoTo(secret, host, { isKeyed })).toBe(expected);
  });
});

test('parseBaseUrl splits a base URL into host and path prefix, and refuses other text', () => {
  expect(parseBaseUrl('https://API.example.com:8443/v3/')).toEqual({
    host: 'api.example.com:8443',
    prefix: '/v3',
  });
  expect(() => parseBaseUrl('nonsense')).toThrow(
    expect.objectContaining({ code: 'host_not_allowed' }),
  );
});
