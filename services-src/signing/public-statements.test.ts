import { randomBytes } from 'node:crypto';

import { expect, test } from 'vitest';
import { z } from 'zod';

import { createPublicSigner, createPublicVerifier, publicKeyOf } from './public-statements.ts';

const schema = z.strictObject({ who: z.string() });
const createKey = () => randomBytes(32).toString('base64url');
const refusedError = expect.objectContaining({ code: 'unauthenticated' });

test('a statement can be verified with the public key alone', () => {
  const secret = createKey();
  const signer = createPublicSigner<{ who: string }>('decision', secret);
  const signed = signer.sign({ who: 'ann' });

  expect(signer.publicKey).toBe(publicKeyOf(secret));
  expect(createPublicVerifier('decision', signer.publicKey, schema).verify(signed)).toEqual({
    who: 'ann',
  });
  expect(signed).toContain(`.${signer.keyId}:`);
  expect(signed).not.toContain(secret);
});

test('the public key of the private key in RFC 8032 §7.1, test 1, is the one that the RFC lists', () => {
  const secret = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60';
  const publicKeyHex = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a';
  const text = (hex: string) => Buffer.from(hex, 'hex').toString('base64url');

  expect(publicKeyOf(text(secret))).toBe(text(publicKeyHex));
});

test('a statement is refused when another key signed it or when it was changed', () => {
  const signer = createPublicSigner<{ who: string }>('decision', createKey());
  const otherSigner = createPublicSigner<{ who: string }>('decision', createKey());
  const verifier = createPublicVerifier('decision', signer.publicKey, schema);
  const [payload = '', signature = ''] = signer.sign({ who: 'ann' }).split('.');
  const [forged = '', theirs = ''] = otherSigner.sign({ who: 'admin' }).split('.');
  const refusedTexts = [
    `${forged}.${theirs}`,
    `${forged}.${signature}`,
    `${payload}.${theirs}`,
    `${forged}.${signer.keyId}:${theirs.split(':')[1]}`,
    `${payload}.${signer.keyId}:`,
    payload,
    '',
  ];
  for (const text of refusedTexts) expect(() => verifier.verify(text)).toThrow(refusedError);
});
