import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import type { AppError } from '#errors';
import { unfitSecretError } from './secret-parts.ts';
import type { SecretParts } from './secret-parts.ts';

export type Claims = Readonly<Record<string, string | number>>;

/** No provider accepts a shorter key: RFC 7518 §3.3 asks for 2048 bits. */
const modulusBitsMin = 2_048;
/**
 * The longest key in bits. Signing blocks all calls: its time grows with the cube of the length,
 * and takes seconds for a long key with made-up numbers.
 */
const modulusBitsMax = 4_096;

/**
 * Signs a JSON Web Token with RS256 (RFC 7515 §3.1), using the part `private_key` of the secret.
 * The part `private_key_id` or `key_id`, if present, becomes the header `kid`.
 */
export function signAssertion(claims: Claims, parts: SecretParts, secretName: string): string {
  const key = readPrivateKey(parts.get('private_key') ?? '', secretName);
  const keyId = parts.get('private_key_id') ?? parts.get('key_id');
  const header = { alg: 'RS256', typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) };
  const signedPart = `${encodeJson(header)}.${encodeJson(claims)}`;
  try {
    return `${signedPart}.${sign('sha256', Buffer.from(signedPart), key).toString('base64url')}`;
  } catch {
    throw unusableKeyError(secretName); // A key can be read whose numbers do not fit together.
  }
}

/**
 * The times of an assertion. It is valid from a moment before now, because the provider's clock may
 * be slow, and for two and a half minutes: Salesforce accepts at most three.
 */
export function assertionTimesOf(nowMs: number): { iat: number; exp: number } {
  const now = Math.floor(nowMs / 1_000);
  return { iat: now - 30, exp: now + 150 };
}

/**
 * Reads a PEM key. Restores line breaks that were lost in a one-line form field or in JSON that was
 * escaped twice.
 */
function readPrivateKey(pem: string, secretName: string): KeyObject {
  const pemMatch = /-----BEGIN ((?:RSA )?PRIVATE KEY)-----([\s\S]*?)-----END \1-----/.exec(pem);
  const label = pemMatch?.[1] ?? '';
  const body = (pemMatch?.[2] ?? '').replaceAll(/\\[nr]|\s/g, '');
  let key: KeyObject;
  try {
    key = createPrivateKey(
      `-----BEGIN ${label}-----\n${body.replaceAll(/.{64}/g, '$&\n')}\n-----END ${label}-----\n`,
    );
  } catch {
    throw unusableKeyError(secretName); // The cause could repeat a part of the key.
  }
  const { modulusLength = 0 } = createPublicKey(key).asymmetricKeyDetails ?? {};
  const isFitLength = modulusLength >= modulusBitsMin && modulusLength <= modulusBitsMax;
  if (key.asymmetricKeyType !== 'rsa' || !isFitLength) throw unusableKeyError(secretName);
  return key;
}

function unusableKeyError(secretName: string): AppError {
  return unfitSecretError(
    secretName,
    `has no usable private_key. Its owner stores an RSA key of ${modulusBitsMin} to ${modulusBitsMax} bits as PEM, without a passphrase`,
    { parts: ['private_key'] },
  );
}

function encodeJson(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
