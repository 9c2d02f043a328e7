import { createHmac, createSecretKey, hash, timingSafeEqual } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import type { z } from 'zod';

import { AppError } from '#errors';
import { createStatementReader, payloadOf } from './payload.ts';

/**
 * Signed statements between components (ARCHITECTURE.md: Signatures):
 *
 *     base64url(json) "." keyId ":" base64url(mac) { "," keyId ":" base64url(mac) }
 *
 * A statement has one MAC per verifying component, each made with that component's key: a verifier
 * checks the MAC of its own key and cannot make the MAC for another component. All MACs are made
 * over one digest, so that a further verifier costs one short HMAC. The purpose is part of what is
 * signed, so that a permit can never be read as a principal even if two keys were set to one value.
 */
export type Purpose = 'principal' | 'permit' | 'gap';

export interface Signer<T> {
  sign(statement: T): string;
}

export interface Verifier<T> {
  /** Throws `unauthenticated` when the text has no MAC by this key for this purpose. */
  verify(signed: string): T;
}

/** A signer whose statements can be verified by every holder of one of these keys. */
export function createSigner<T>(purpose: Purpose, ...keyTexts: readonly string[]): Signer<T> {
  const keys = keyTexts.map(readKey);
  return {
    sign(statement) {
      const payload = payloadOf(purpose, statement);
      const digest = payloadDigestOf(purpose, payload);
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
  const keyIdPrefix = `${key.id}:`;
  const readStatement = createStatementReader(purpose, schema);
  return {
    verify(signed) {
      const dot = signed.indexOf('.');
      const payload = signed.slice(0, dot);
      const mac = signed
        .slice(dot + 1)
        .split(',', macsMax)
        .find((each) => each.startsWith(keyIdPrefix));
      const givenMac = Buffer.from(mac?.slice(keyIdPrefix.length) ?? '', 'base64url');
      const expectedMac = macOf(key, payloadDigestOf(purpose, payload));
      if (
        dot < 1 ||
        givenMac.length !== expectedMac.length ||
        !timingSafeEqual(givenMac, expectedMac)
      ) {
        throw new AppError('unauthenticated', `The ${purpose} of this request is not genuine.`);
      }
      return readStatement(payload);
    },
  };
}

/** The most MACs that are read from a statement; genuine statements have fewer. */
const macsMax = 16;

interface MacKey {
  /** Identifies the key without revealing it. */
  readonly id: string;
  readonly key: KeyObject;
}

export function readKey(text: string): MacKey {
  return { id: keyIdOf(text), key: createSecretKey(text, 'utf8') };
}

/** The name of a key in statements: the first characters of the digest of its text. */
export function keyIdOf(text: string): string {
  return hash('sha256', `key id\0${text}`, 'base64url').slice(0, 12);
}

export function payloadDigestOf(purpose: Purpose | 'card', payload: string): Buffer {
  return hash('sha256', `${purpose}\0${payload}`, 'buffer');
}

export function macOf({ key }: MacKey, digest: Buffer): Buffer {
  return createHmac('sha256', key).update(digest).digest();
}
