import { randomBytes } from 'node:crypto';

import { expect, test } from 'vitest';

import { sealSecret, sealingKeyOf, unsealSecret } from './sealing.ts';

const key = sealingKeyOf('CANARY'.padEnd(43, 'k'));
const binding = { orgId: 'o', key: 'idp', issuer: 'https://idp.example' };
const sealed = sealSecret(key, 'CANARY-secret', { binding, random: randomBytes });

test('a sealed client secret opens with its key and binding', () => {
  expect(unsealSecret(key, sealed, binding)).toBe('CANARY-secret');
  expect(sealed.toString('latin1')).not.toContain('CANARY');
});

test.for<[string, Partial<typeof binding>]>([
  ['org', { orgId: 'p' }],
  ['provider', { key: 'other' }],
  ['issuer', { issuer: 'https://evil.example' }],
])('and for no other %s', ([, change]) => {
  expect(() => unsealSecret(key, sealed, { ...binding, ...change })).toThrow();
});

test('nor with another key, changed, or cut', () => {
  const changed = Buffer.from(sealed);
  changed[14] = (changed[14] ?? 0) ^ 1;
  expect(() => unsealSecret(sealingKeyOf('x'.repeat(43)), sealed, binding)).toThrow();
  expect(() => unsealSecret(key, changed, binding)).toThrow();
  expect(() => unsealSecret(key, sealed.subarray(0, 10), binding)).toThrow();
});
