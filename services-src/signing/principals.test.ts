import { randomBytes, randomUUIDv7 } from 'node:crypto';

import { expect, test } from 'vitest';

import type { Principal } from '#contracts/vocabulary';
import { createPrincipalReader } from './principals.ts';
import { createSigner } from './statements.ts';

const key = randomBytes(32).toString('base64url');
const signer = createSigner<Principal>('principal', key);
const id = randomUUIDv7();

function signPrincipal(change: Partial<Principal>): string {
  return signer.sign({
    orgId: id,
    identityId: id,
    kind: 'user',
    userId: id,
    role: 'member',
    chain: [{ id, kind: 'user', name: 'ann', inheritPermissions: false }],
    autoCallOnApprove: true,
    credential: { kind: 'session', id, clientId: null },
    scopes: ['user'],
    expiresAt: Date.now() + 10_000,
    ...change,
  });
}

test('a principal that was issued now is accepted, and so is one of an earlier release without the time of issue', () => {
  const readPrincipal = createPrincipalReader(key);

  expect(readPrincipal(signPrincipal({ issuedAt: Date.now() })).identityId).toBe(id);
  expect(readPrincipal(signPrincipal({})).identityId).toBe(id);
});

test('a principal that was issued in the future is refused', () => {
  const readPrincipal = createPrincipalReader(key);

  expect(() => readPrincipal(signPrincipal({ issuedAt: Date.now() + 60_000 }))).toThrow(
    expect.objectContaining({ code: 'unauthenticated' }),
  );
});
