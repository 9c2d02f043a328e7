import { describe, expect, test } from 'vitest';

import { AppError } from '#errors';
import { createAuthenticator } from './authenticator.ts';
import { describeSite } from './domain/site.ts';
import type { Site } from './domain/site.ts';
import { readCredential } from './read-credential.ts';
import { createAgentPrincipal } from '../principals.testing.ts';
import { createRateLimits } from '../limits/rate-limits.ts';

const gatewaySite = describeSite('http://127.0.0.1:8080', 8080) as Site;
const bearer = { kind: 'bearer', token: 'aak_1' } as const;

describe('the authenticator', () => {
  test('asks auth once for concurrent requests with one credential, and caches the caller', async () => {
    const { authenticator, asked } = start();

    await Promise.all([1, 2, 3].map(() => authenticator.authenticate(bearer)));
    await authenticator.authenticate(bearer);

    expect(asked).toHaveLength(1);
  });

  test('distinguishes a session from a bearer token with equal text', async () => {
    const { authenticator, asked } = start();

    await authenticator.authenticate(bearer);
    await authenticator.authenticate({ ...bearer, kind: 'session' });

    expect(asked.map(({ kind }) => kind)).toEqual(['bearer', 'session']);
  });

  test('asks auth again after its cache was dropped', async () => {
    const { authenticator, asked } = start();
    await authenticator.authenticate(bearer);

    authenticator.forget();
    await authenticator.authenticate(bearer);

    expect(asked).toHaveLength(2);
  });

  test('does not cache refusals', async () => {
    const { authenticator, asked } = start({ fails: true });

    await expect(authenticator.authenticate(bearer)).rejects.toMatchObject({
      code: 'unauthenticated',
    });
    await expect(authenticator.authenticate(bearer)).rejects.toThrow();
    expect(asked).toHaveLength(2);
  });

  test('never returns a principal that is about to expire', async () => {
    const { authenticator, asked } = start({ livesMs: 3_000 });

    await authenticator.authenticate(bearer);

    expect(asked).toHaveLength(2);
  });

  test('refuses a token that is too long, and does not ask auth about it', async () => {
    const { authenticator, asked } = start();

    await expect(
      authenticator.authenticate({ kind: 'bearer', token: 'x'.repeat(513) }),
    ).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(asked).toHaveLength(0);
  });
});

describe('the credential of a request', () => {
  const readCredentialOf = (headers: Record<string, string>, method = 'GET') =>
    readCredential(gatewaySite, { method, headers });

  test('is the bearer token if there is one', () => {
    expect(
      readCredentialOf({ authorization: 'bearer  aak_1', cookie: 'gateway_session=s' }, 'POST'),
    ).toEqual(bearer);
  });

  test('is the session cookie if there is no bearer token', () => {
    expect(readCredentialOf({ cookie: 'gateway_session=s' })).toEqual({
      kind: 'session',
      token: 's',
    });
    expect(() => readCredentialOf({ cookie: '__Host-gateway_session=s' })).toThrow(AppError);
    expect(() => readCredentialOf({ cookie: 'gateway_session=' })).toThrow(AppError);
  });

  test.for(['POST', 'PUT', 'PATCH', 'DELETE'])(
    'is the session cookie for a %s request only if its Origin header is the gateway’s own',
    (method) => {
      const cookie = 'gateway_session=s';

      expect(() => readCredentialOf({ cookie }, method)).toThrow(
        expect.objectContaining({ code: 'forbidden' }),
      );
      expect(readCredentialOf({ cookie, origin: gatewaySite.origin }, method)).toMatchObject({
        kind: 'session',
      });
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
  const lookups: { kind: string }[] = [];
  const client = {
    async authenticate(request: { kind: 'bearer' | 'session'; token: string }) {
      lookups.push(request);
      await Promise.resolve();
      if (fails) throw new AppError('unauthenticated', 'No such credential.');
      return {
        principal: 'signed',
        claims: { ...createAgentPrincipal(), expiresAt: Date.now() + livesMs },
      };
    },
  };
  return {
    authenticator: createAuthenticator(client, createRateLimits(unlimited)),
    asked: lookups,
  };
}
