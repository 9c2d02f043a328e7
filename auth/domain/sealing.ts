import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** What a client secret belongs to: moved to another org or provider it does not open. */
export interface SecretBinding {
  readonly orgId: string;
  readonly key: string;
  /** Where it may be sent: a changed row must not carry it to another server. */
  readonly issuer: string;
}

const nonceBytes = 12;
const tagBytes = 16;

/** SIGN_IN_KEY is text with at least 256 random bits; the cipher needs exactly that many. */
export function sealingKeyOf(text: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', text, '', 'sign-in providers', 32)));
}

/** AES-256-GCM as `nonce || ciphertext || tag`. */
export function sealSecret(
  key: KeyObject,
  secret: string,
  { binding, random }: { binding: SecretBinding; random: (length: number) => Uint8Array },
): Buffer {
  const nonce = random(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(associatedData(binding));
  return Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

/** Throws when it was not sealed with this key for exactly this binding. */
export function unsealSecret(key: KeyObject, sealed: Uint8Array, binding: SecretBinding): string {
  if (sealed.length < nonceBytes + tagBytes) throw new Error('sealed value is too short');
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(associatedData(binding)).setAuthTag(sealed.subarray(sealed.length - tagBytes));
  const text = decipher.update(sealed.subarray(nonceBytes, sealed.length - tagBytes));
  return Buffer.concat([text, decipher.final()]).toString('utf8');
}

function associatedData({ orgId, key, issuer }: SecretBinding): Buffer {
  return Buffer.from(JSON.stringify(['gateway-sign-in-1', orgId, key, issuer]));
}
