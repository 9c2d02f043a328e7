import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/**
 * The org, provider and issuer that a sealed client secret is bound to. A secret that is copied to
 * the row of another org or provider cannot be decrypted there.
 */
export interface SecretBinding {
  readonly orgId: string;
  readonly key: string;
  /**
   * The server that may receive the secret. If somebody manipulates the issuer, the secret cannot
   * be decrypted and is not sent.
   */
  readonly issuer: string;
}

const nonceBytes = 12;
const tagBytes = 16;

/** Derives the 256-bit cipher key from SIGN_IN_KEY, a text with at least as many random bits. */
export function sealingKeyOf(text: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', text, '', 'sign-in providers', 32)));
}

/** Encrypts a secret with AES-256-GCM as `nonce || ciphertext || tag`. */
export function sealSecret(
  key: KeyObject,
  secret: string,
  { binding, random }: { binding: SecretBinding; random: (length: number) => Uint8Array },
): Buffer {
  const nonce = random(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(associatedData(binding));
  return Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts a secret. Throws unless the secret was sealed with this key and this binding. */
export function unsealSecret(
  key: KeyObject,
  sealedSecret: Uint8Array,
  binding: SecretBinding,
): string {
  if (sealedSecret.length < nonceBytes + tagBytes) throw new Error('sealed value is too short');
  const decipher = createDecipheriv('aes-256-gcm', key, sealedSecret.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  });
  decipher
    .setAAD(associatedData(binding))
    .setAuthTag(sealedSecret.subarray(sealedSecret.length - tagBytes));
  const text = decipher.update(sealedSecret.subarray(nonceBytes, sealedSecret.length - tagBytes));
  return Buffer.concat([text, decipher.final()]).toString('utf8');
}

function associatedData({ orgId, key, issuer }: SecretBinding): Buffer {
  return Buffer.from(JSON.stringify(['gateway-sign-in-1', orgId, key, issuer]));
}
