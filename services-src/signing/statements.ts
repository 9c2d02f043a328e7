import { createHmac, createSecretKey, hash, timingSafeEqual } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { z } from 'zod';

import { AppError } from '#errors';

/**
 * Signed statements between components (ARCHITECTURE.md: Signatures):
 *
 *     base64url(json) "." keyId ":" base64url(mac) { "," keyId ":" base64url(mac) }
 *
 * One MAC per component that has to be convinced, each with a key of its own: a verifier looks
 * for the MAC of its own key, and nothing it has lets it make the MAC of another's. All MACs are
 * over the same digest, so that a further verifier costs one short HMAC. The purpose is part of
 * what is signed, so that a permit can never be read as a principal even if two keys were set to
 * the same value.
 */
export type Purpose = 'principal' | 'permit' | 'gap';

export interface Signer<T> {
  sign(statement: T): string;
}

export interface Verifier<T> {
  /** Throws `unauthenticated` when the text has no MAC of this key for this purpose. */
  verify(signed: string): T;
}

/** A signer whose statements convince everybody who has one of these keys. */
export function createSigner<T>(purpose: Purpose, ...texts: readonly string[]): Signer<T> {
  const keys = texts.map(readKey);
  return {
    sign(statement) {
      const payload = Buffer.from(JSON.stringify(statement)).toString('base64url');
      const digest = payloadDigest(purpose, payload);
      const macs = keys.map((key) => `${key.id}:${macOf(key, digest).toString('base64url')}`);
      return `${payload}.${macs.join(',')}`;
    },
  };
}

export function createVerifier<T>(
  purpose: Purpose,
  text: string,
  schema: z.ZodType<T>,
): Verifier<T> {
  const key = readKey(text);
  const beginning = `${key.id}:`;
  const statement = z.compile(schema);
  return {
    verify(signed) {
      const dot = signed.indexOf('.');
      const payload = signed.slice(0, dot);
      const mac = signed
        .slice(dot + 1)
        .split(',', signaturesMax)
        .find((each) => each.startsWith(beginning));
      const given = Buffer.from(mac?.slice(beginning.length) ?? '', 'base64url');
      const expected = macOf(key, payloadDigest(purpose, payload));
      if (dot < 1 || given.length !== expected.length || !timingSafeEqual(given, expected)) {
        throw new AppError('unauthenticated', `The ${purpose} of this request is not genuine.`);
      }
      return statement.parse(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')));
    },
  };
}

/** More than any statement has verifiers. */
const signaturesMax = 16;

interface MacKey {
  /** Which key it is, without saying what it is. */
  readonly id: string;
  readonly key: KeyObject;
}

export function readKey(text: string): MacKey {
  return { id: keyIdOf(text), key: createSecretKey(text, 'utf8') };
}

/** Names a key in statements: the beginning of the digest of its text. */
export function keyIdOf(text: string): string {
  return hash('sha256', `key id\0${text}`, 'base64url').slice(0, 12);
}

export function payloadDigest(purpose: Purpose | 'card', payload: string): Buffer {
  return hash('sha256', `${purpose}\0${payload}`, 'buffer');
}

export function macOf({ key }: MacKey, digest: Buffer): Buffer {
  return createHmac('sha256', key).update(digest).digest();
}
