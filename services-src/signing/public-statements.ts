import { createPrivateKey, createPublicKey, hash, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import type { z } from 'zod';

import { AppError } from '#errors';
import { createStatementReader, payloadOf } from './payload.ts';
import { keyIdOf } from './statements.ts';
import type { Signer, Verifier } from './statements.ts';

/** The DER prefixes of Ed25519 keys (RFC 8410 §7 and §4); the 32 bytes of the key follow. */
const privateBeginning = Buffer.from('302e020100300506032b657004220420', 'hex');
const publicBeginning = Buffer.from('302a300506032b6570032100', 'hex');

export interface PublicSigner<T> extends Signer<T> {
  readonly keyId: string;
  /** base64url of the 32 bytes (RFC 8032 §5.1.5). */
  readonly publicKey: string;
}

/**
 * A signer (Ed25519) whose statements anyone can verify, but only the holder of the private key can
 * make. They have the format of the other signed statements: `payload.keyId:signature`. The key is
 * 32 random bytes as base64url.
 */
export function createPublicSigner<T>(purpose: 'decision', text: string): PublicSigner<T> {
  const key = readPrivateKey(text);
  const publicKey = publicKeyOf(text);
  const keyId = keyIdOf(publicKey);
  return {
    keyId,
    publicKey,
    sign(statement) {
      const payload = payloadOf(purpose, statement);
      const signature = sign(null, signedBytesOf(purpose, payload), key).toString('base64url');
      return `${payload}.${keyId}:${signature}`;
    },
  };
}

/** Derives the public key from a private key in the format of the settings. */
export function publicKeyOf(text: string): string {
  const derBytes = createPublicKey(readPrivateKey(text)).export({ type: 'spki', format: 'der' });
  return derBytes.subarray(publicBeginning.length).toString('base64url');
}

export function createPublicVerifier<T>(
  purpose: 'decision',
  publicKey: string,
  schema: z.ZodType<T>,
): Verifier<T> {
  const key = readPublicKey(publicKey);
  const keyIdPrefix = `${keyIdOf(publicKey)}:`;
  const readStatement = createStatementReader(purpose, schema);
  return {
    verify(signed) {
      const dot = signed.indexOf('.');
      const payload = signed.slice(0, dot);
      const signature = signed.slice(dot + 1);
      const isGenuine =
        dot > 0 &&
        signature.startsWith(keyIdPrefix) &&
        verify(
          null,
          signedBytesOf(purpose, payload),
          key,
          Buffer.from(signature.slice(keyIdPrefix.length), 'base64url'),
        );
      if (!isGenuine) {
        throw new AppError('unauthenticated', `The ${purpose} of this request is not genuine.`);
      }
      return readStatement(payload);
    },
  };
}

/** SHA-256 of a signed statement's payload, in hex. It does not depend on the verifier's key. */
export function statementDigestOf(signed: string): string {
  return hash('sha256', signed.slice(0, Math.max(signed.indexOf('.'), 0)));
}

function readPrivateKey(text: string): KeyObject {
  const derBytes = Buffer.concat([privateBeginning, Buffer.from(text, 'base64url')]);
  return createPrivateKey({ key: derBytes, type: 'pkcs8', format: 'der' });
}

function readPublicKey(text: string): KeyObject {
  const derBytes = Buffer.concat([publicBeginning, Buffer.from(text, 'base64url')]);
  return createPublicKey({ key: derBytes, type: 'spki', format: 'der' });
}

function signedBytesOf(purpose: string, payload: string): Buffer {
  return Buffer.from(`${purpose}\0${payload}`);
}
