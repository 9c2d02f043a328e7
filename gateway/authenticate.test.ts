import { describe, expect, test } from 'vitest';

import { AppError } from '#errors';
import { createAuthenticator, readCredential } from './authenticate.ts';
import { describeSite } from './domain/site.ts';
import type { Site } from './domain/site.ts';
import { agent } from './principals.testing.ts';
import { createRateLimits } from './rate-limits.ts';

const site = describeSite('http://127.0.0.1:8080', 8080) as Site;
const bearer = { kind: 'bearer', token: 'aak_1' } as const;

describe('the authenticator', () => {
  test('asks once for many at the same time, and keeps the answer', async () => {
    const { authenticator, asked } = start();

    await Promise.all([1, 2, 3].map(() => authenticator.authenticate(bearer)));
    await authenticator.authenticate(bearer);

    expect(asked).toHaveLength(1);
  });

  test('tells a session from a bearer of the same text', async () => {
    const { authenticator, asked } = start();

    await authenticator.authenticate(bearer);
    await authenticator.authenticate({ ...bearer, kind: 'session' });

    expect(asked.map(({ kind }) => kind)).toEqual(['bearer', 'session']);
  });

  test('asks again once it was told to forget', async () => {
    const { authenticator, asked } = start();
    await authenticator.authenticate(bearer);

    authenticator.forget();
    await authenticator.authenticate(bearer);

    expect(asked).toHaveLength(2);
  });

  test('keeps no refusal', async () => {
    const { authenticator, asked } = start({ fails: true });

    await expect(authenticator.authenticate(bearer)).rejects.toMatchObject({
      code: 'unauthenticated',
    });
    await expect(authenticator.authenticate(bearer)).rejects.toThrow();
    expect(asked).toHaveLength(2);
  });

  test('never hands out a principal about to expire', async () => {
    const { authenticator, asked } = start({ livesMs: 3_000 });

    await authenticator.authenticate(bearer);

    expect(asked).toHaveLength(2);
  });

  test('refuses what is too long for any token, without asking', async () => {
    const { authenticator, asked } = start();

    await expect(
      authenticator.authenticate({ kind: 'bearer', token: 'x'.repeat(513) }),
    ).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(asked).toHaveLength(0);
  });
});

describe('the credential of a request', () => {
  const read = (headers: Record<string, string>, method = 'GET') =>
    readCredential(site, { method, headers });

  test('is the bearer when there is one, whatever else was sent', () => {
    expect(read({ authorization: 'bearer  aak_1', cookie: 'gateway_session=s' }, 'POST')).toEqual(
      bearer,
    );
  });

  test('is else the session cookie of this site', () => {
    expect(read({ cookie: 'gateway_session=s' })).toEqual({ kind: 'session', token: 's' });
    expect(() => read({ cookie: '__Host-gateway_session=s' })).toThrow(AppError);
    expect(() => read({ cookie: 'gateway_session=' })).toThrow(AppError);
  });

  test.for(['POST', 'PUT', 'PATCH', 'DELETE'])(
    'a cookie with %s needs our own Origin',
    (method) => {
      const cookie = 'gateway_session=s';

      expect(() => read({ cookie }, method)).toThrow(
        expect.objectContaining({ code: 'forbidden' }),
      );
      expect(read({ cookie, origin: site.origin }, method)).toMatchObject({ kind: 'session' });
    },
  );
});

const unlimited = {
  identityPerMinute: 0,
  userPerMinute: 0,
  signInPerMinute: 0,
  registerPerHour: 0,
  publicPerMinute: 0,
  replicas: () => 1,
};

function start({ fails = false, livesMs = 10_000 } = {}) {
  const asked: { kind: string }[] = [];
  const client = {
    async authenticate(request: { kind: 'bearer' | 'session'; token: string }) {
      asked.push(request);
      await Promise.resolve();
      if (fails) throw new AppError('unauthenticated', 'No such credential.');
      return { principal: 'signed', claims: { ...agent(), expiresAt: Date.now() + livesMs } };
    },
  };
  return { authenticator: createAuthenticator(client, createRateLimits(unlimited)), asked };
}
