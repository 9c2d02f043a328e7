import { createPrivateKey, createPublicKey, hash, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { z } from 'zod';

import { AppError } from '#errors';
import { keyIdOf } from './statements.ts';
import type { Signer, Verifier } from './statements.ts';

/** What an Ed25519 key is wrapped in (RFC 8410 §7 and §4); the 32 bytes of the key follow. */
const privateBeginning = Buffer.from('302e020100300506032b657004220420', 'hex');
const publicBeginning = Buffer.from('302a300506032b6570032100', 'hex');

export interface PublicSigner<T> extends Signer<T> {
  readonly keyId: string;
  /** base64url of the 32 bytes (RFC 8032 §5.1.5). */
  readonly publicKey: string;
}

/**
 * A signer whose statements anybody can check and nobody else can make (Ed25519), in the form of
 * the others: `payload.keyId:signature`. The key is 32 random bytes as base64url.
 */
export function createPublicSigner<T>(purpose: 'decision', text: string): PublicSigner<T> {
  const key = readPrivateKey(text);
  const publicKey = publicKeyOf(text);
  const keyId = keyIdOf(publicKey);
  return {
    keyId,
    publicKey,
    sign(statement) {
      const payload = Buffer.from(JSON.stringify(statement)).toString('base64url');
      const signature = sign(null, signedBytes(purpose, payload), key).toString('base64url');
      return `${payload}.${keyId}:${signature}`;
    },
  };
}

/** The public half of a private key, as settings hold it. */
export function publicKeyOf(text: string): string {
  const der = createPublicKey(readPrivateKey(text)).export({ type: 'spki', format: 'der' });
  return der.subarray(publicBeginning.length).toString('base64url');
}

export function createPublicVerifier<T>(
  purpose: 'decision',
  publicKey: string,
  schema: z.ZodType<T>,
): Verifier<T> {
  const key = readPublicKey(publicKey);
  const beginning = `${keyIdOf(publicKey)}:`;
  const statement = z.compile(schema);
  return {
    verify(signed) {
      const dot = signed.indexOf('.');
      const payload = signed.slice(0, dot);
      const signature = signed.slice(dot + 1);
      const isGenuine =
        dot > 0 &&
        signature.startsWith(beginning) &&
        verify(
          null,
          signedBytes(purpose, payload),
          key,
          Buffer.from(signature.slice(beginning.length), 'base64url'),
        );
      if (!isGenuine) {
        throw new AppError('unauthenticated', `The ${purpose} of this request is not genuine.`);
      }
      return statement.parse(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')));
    },
  };
}

/** SHA-256 of what a signed statement says, in hex: the same for every verifier. */
export function statementDigest(signed: string): string {
  return hash('sha256', signed.slice(0, Math.max(signed.indexOf('.'), 0)));
}

function readPrivateKey(text: string): KeyObject {
  const der = Buffer.concat([privateBeginning, Buffer.from(text, 'base64url')]);
  return createPrivateKey({ key: der, type: 'pkcs8', format: 'der' });
}

function readPublicKey(text: string): KeyObject {
  const der = Buffer.concat([publicBeginning, Buffer.from(text, 'base64url')]);
  return createPublicKey({ key: der, type: 'spki', format: 'der' });
}

function signedBytes(purpose: string, payload: string): Buffer {
  return Buffer.from(`${purpose}\0${payload}`);
}
