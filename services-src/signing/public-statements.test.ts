import { randomBytes } from 'node:crypto';

import { expect, test } from 'vitest';
import { z } from 'zod';

import { createPublicSigner, createPublicVerifier, publicKeyOf } from './public-statements.ts';

const schema = z.strictObject({ who: z.string() });
const key = () => randomBytes(32).toString('base64url');
const refused = expect.objectContaining({ code: 'unauthenticated' });

test('a statement is checked by the public key alone', () => {
  const secret = key();
  const signer = createPublicSigner<{ who: string }>('decision', secret);
  const signed = signer.sign({ who: 'ann' });

  expect(signer.publicKey).toBe(publicKeyOf(secret));
  expect(createPublicVerifier('decision', signer.publicKey, schema).verify(signed)).toEqual({
    who: 'ann',
  });
  expect(signed).toContain(`.${signer.keyId}:`);
  expect(signed).not.toContain(secret);
});

test('the key of RFC 8032 §7.1, test 1, has its public half', () => {
  const secret = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60';
  const open = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a';
  const text = (hex: string) => Buffer.from(hex, 'hex').toString('base64url');

  expect(publicKeyOf(text(secret))).toBe(text(open));
});

test('what another key signed, or what was changed, is refused', () => {
  const signer = createPublicSigner<{ who: string }>('decision', key());
  const other = createPublicSigner<{ who: string }>('decision', key());
  const verifier = createPublicVerifier('decision', signer.publicKey, schema);
  const [payload = '', signature = ''] = signer.sign({ who: 'ann' }).split('.');
  const [forged = '', theirs = ''] = other.sign({ who: 'admin' }).split('.');
  const texts = [
    `${forged}.${theirs}`,
    `${forged}.${signature}`,
    `${payload}.${theirs}`,
    `${forged}.${signer.keyId}:${theirs.split(':')[1]}`,
    `${payload}.${signer.keyId}:`,
    payload,
    '',
  ];
  for (const text of texts) expect(() => verifier.verify(text)).toThrow(refused);
});
