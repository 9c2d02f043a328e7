import { describe, expect, test } from 'vitest';

import { mayGoTo, parseBaseUrl } from './hosts.ts';
import { dispatchIdOf } from './statements.ts';

describe('dispatchIdOf', () => {
  const call = { identityId: 'bot', idempotencyKey: 'key-1', nonRead: true };

  test('is the same for the same identity and idempotency key', () => {
    expect(dispatchIdOf(call, 'jti-1')).toBe(dispatchIdOf(call, 'jti-2'));
    expect(dispatchIdOf(call, 'jti-1')).toMatch(/^idem-[0-9a-f]{64}$/);
  });

  test.for<[name: string, other: Partial<typeof call>]>([
    ['another identity', { identityId: 'other' }],
    ['another key', { idempotencyKey: 'key-2' }],
  ])('is another for %s', ([, other]) => {
    expect(dispatchIdOf({ ...call, ...other }, 'jti')).not.toBe(dispatchIdOf(call, 'jti'));
  });

  test('a key on a read is ignored, and so is none', () => {
    expect(dispatchIdOf({ ...call, nonRead: false }, 'jti-1')).toBe('jti-1');
    expect(dispatchIdOf({ ...call, idempotencyKey: null }, 'gap-1')).toBe('gap-1');
  });
});

describe('mayGoTo', () => {
  const own = { reference: 'token', allowedHosts: ['a.example'] };
  const free = { reference: 'token', allowedHosts: [] };

  test.for<
    [
      name: string,
      secret: typeof own | typeof free,
      host: string,
      isKeyed: boolean,
      expected: boolean,
    ]
  >([
    ['a host on its list', own, 'a.example', false, true],
    ['another host, key or not', own, 'b.example', true, false],
    ['the same host on another port', own, 'a.example:8443', true, false],
    ['a host above or below it', own, 'x.a.example', true, false],
    ['without a list, by a key', free, 'b.example', true, true],
    ['without a list, by a service', free, 'b.example', false, false],
    [
      'of the org without a list, never',
      { ...free, reference: 'org/token' },
      'b.example',
      true,
      false,
    ],
  ])('%s', ([, secret, host, isKeyed, expected]) => {
    expect(mayGoTo(secret, host, { isKeyed })).toBe(expected);
  });
});

test('a base URL gives host and prefix', () => {
  expect(parseBaseUrl('https://API.example.com:8443/v3/')).toEqual({
    host: 'api.example.com:8443',
    prefix: '/v3',
  });
  expect(() => parseBaseUrl('nonsense')).toThrow(
    expect.objectContaining({ code: 'host_not_allowed' }),
  );
});
