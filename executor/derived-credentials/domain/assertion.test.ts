import { createPrivateKey, randomBytes } from 'node:crypto';

import { describe, expect, test } from 'vitest';

import { createKeyPair } from '../providers.testing.ts';
import { signAssertion } from './assertion.ts';

/** An RSA key with made-up numbers. It is quick to create, but signing with it is slow. */
function madeUpKey(bits: number): string {
  const createNumber = (length: number) => {
    const bytes = randomBytes(length / 8);
    bytes[0] = (bytes[0] ?? 0) | 0x80;
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 1;
    return bytes.toString('base64url');
  };
  const half = createNumber(bits / 2);
  const factors = { p: half, q: half, dp: half, dq: half, qi: half };
  const key = { kty: 'RSA', n: createNumber(bits), e: 'AQAB', d: createNumber(bits), ...factors };
  const made = createPrivateKey({ format: 'jwk', key });
  return String(made.export({ type: 'pkcs1', format: 'pem' }));
}

const signWith = (pem: string) => signAssertion({}, new Map([['private_key', pem]]), 'app');

describe('an assertion', () => {
  test.for(['pkcs1', 'pkcs8'] as const)('is signed with a key in %s', (type) => {
    expect(signWith(createKeyPair(type).pem)).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
  });

  test('is not signed with a key so long that other calls would have to wait', () => {
    const pem = madeUpKey(8_192);
    expect(() => signWith(pem)).toThrow(
      expect.objectContaining({
        code: 'credential_missing',
        message: expect.stringContaining('2048 to 4096 bits'),
      }),
    );
  });
});
