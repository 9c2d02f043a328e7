import { randomBytes } from 'node:crypto';

import { expect, test } from 'vitest';

import { sealSecret, sealingKeyOf, unsealSecret } from './sealing.ts';

const key = sealingKeyOf('CANARY'.padEnd(43, 'k'));
const binding = { orgId: 'o', key: 'idp', issuer: 'https://idp.example' };
const sealedSecret = sealSecret(key, 'CANARY-secret', { binding, random: randomBytes });

test('a sealed client secret can be decrypted with its key, for the org, provider and issuer that it was sealed for', () => {
  expect(unsealSecret(key, sealedSecret, binding)).toBe('CANARY-secret');
  expect(sealedSecret.toString('latin1')).not.toContain('CANARY');
});

test.for<[string, Partial<typeof binding>]>([
  ['org', { orgId: 'p' }],
  ['provider', { key: 'other' }],
  ['issuer', { issuer: 'https://evil.example' }],
])('a sealed client secret is not decrypted for another %s', ([, change]) => {
  expect(() => unsealSecret(key, sealedSecret, { ...binding, ...change })).toThrow();
});

test('a sealed client secret cannot be decrypted with another key, or after it was manipulated or truncated', () => {
  const changedCiphertext = Buffer.from(sealedSecret);
  changedCiphertext[14] = (changedCiphertext[14] ?? 0) ^ 1;
  expect(() => unsealSecret(sealingKeyOf('x'.repeat(43)), sealedSecret, binding)).toThrow();
  expect(() => unsealSecret(key, changedCiphertext, binding)).toThrow();
  expect(() => unsealSecret(key, sealedSecret.subarray(0, 10), binding)).toThrow();
});
