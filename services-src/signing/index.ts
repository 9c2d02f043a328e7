import { createHmac, createSecretKey, hash, timingSafeEqual } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { z } from 'zod';

import { AppError } from '#errors';

/**
 * Signed statements between components: principals, permits and gaps (architecture: Signatures).
 *
 * `base64url(json).base64url(hmac-sha-256)`. The purpose is part of what is signed, so that a
 * permit can never be read as a principal even if two keys were set to the same value.
 */
export type Purpose = 'principal' | 'permit' | 'gap';

export interface Signer<T> {
  sign(statement: T): string;
}

export interface Verifier<T> {
  /** Throws `unauthenticated` when the text was not signed with this key for this purpose. */
  verify(signed: string): T;
}

/** HMAC keys are at least 256 bits, given in base64url or hex or as long random text. */
export const signingKeyBytesMin = 32;

export function createSigner<T>(purpose: Purpose, text: string): Signer<T> {
  const key = createSecretKey(text, 'utf8');
  return {
    sign(statement) {
      const payload = Buffer.from(JSON.stringify(statement)).toString('base64url');
      return `${payload}.${macOf(purpose, key, payload)}`;
    },
  };
}

export function createVerifier<T>(
  purpose: Purpose,
  text: string,
  schema: z.ZodType<T>,
): Verifier<T> {
  const key = createSecretKey(text, 'utf8');
  const statement = z.compile(schema);
  return {
    verify(signed) {
      const dot = signed.indexOf('.');
      const payload = signed.slice(0, dot);
      const given = Buffer.from(signed.slice(dot + 1));
      const expected = Buffer.from(macOf(purpose, key, payload));
      if (dot < 1 || given.length !== expected.length || !timingSafeEqual(given, expected)) {
        throw new AppError('unauthenticated', `The ${purpose} of this request is not genuine.`);
      }
      return statement.parse(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')));
    },
  };
}

function macOf(purpose: Purpose, key: KeyObject, payload: string): string {
  return createHmac('sha256', key).update(`${purpose}\0${payload}`).digest('base64url');
}

/**
 * JSON with the keys of every object in code-unit order: the same call always gives the same
 * text, however its writer ordered it. Deeper than 64 levels is refused.
 */
export function canonicalJson(value: unknown, depth = 0): string {
  if (depth > 64)
    throw new AppError('invalid_request', 'The call is nested deeper than 64 levels.');
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) {
    return `[${value.map((item) => canonicalJson(item ?? null, depth + 1)).join(',')}]`;
  }
  let members = '';
  // The default order of `toSorted` is by code units.
  const keys = Object.keys(value);
  for (const key of keys.length > 1 ? keys.toSorted() : keys) {
    const member: unknown = value[key as keyof typeof value];
    if (member === undefined) continue;
    members += `${members === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(member, depth + 1)}`;
  }
  return `{${members}}`;
}

/** SHA-256 of the canonical JSON, in hex: what a permit or a gap is bound to. */
export function digestOf(value: unknown): string {
  return hash('sha256', canonicalJson(value));
}

/** Clocks of components may differ by this much (decisions: a larger difference is not ready). */
const clockSkewMs = 1_000;

/** A verified statement that has not expired. */
export function verifyFresh<T extends { readonly expiresAt: number }>(
  verifier: Verifier<T>,
  signed: string,
): T {
  const statement = verifier.verify(signed);
  if (statement.expiresAt + clockSkewMs < Date.now()) {
    throw new AppError('unauthenticated', 'This request took too long to arrive; repeat it.');
  }
  return statement;
}
