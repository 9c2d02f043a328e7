import { createCipheriv, createDecipheriv, createHash, createSecretKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

export type SealingPurpose =
  | 'secret'
  | 'data_key'
  | 'key_check'
  | 'frozen_call'
  | 'connection_tokens'
  | 'connection_flow'
  | 'oauth_app';

/**
 * Where a ciphertext belongs and what it is for. It is authenticated data: a ciphertext that is
 * moved to another org, record or version, or used for another purpose, cannot be opened.
 */
export interface SealContext {
  readonly orgId: string;
  readonly recordId: string;
  readonly version: number;
  readonly purpose: SealingPurpose;
}

export interface MasterKey {
  /**
   * The id of the master key in the rows of the data keys that it wraps. It reveals nothing about
   * the key.
   */
  readonly id: string;
  /**
   * A key object. If the key were given as bytes, Node would import it for each cipher, which takes
   * longer than the cipher itself.
   */
  readonly key: KeyObject;
}

const keyBytes = 32;
export const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts with AES-256-GCM. The result is `nonce || ciphertext || tag`. The nonce is 96 random
 * bits, which must be used only once with one key.
 */
export function seal(
  key: KeyObject,
  plaintext: Uint8Array,
  { sealContext, nonce }: { sealContext: SealContext; nonce: Uint8Array },
): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(associatedDataOf(sealContext));
  return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

/**
 * Decrypts a ciphertext. Throws unless it was sealed with this key for exactly this seal context.
 */
export function unseal(key: KeyObject, sealedBytes: Uint8Array, sealContext: SealContext): Buffer {
  if (sealedBytes.length < nonceBytes + tagBytes) throw new Error('sealed value is too short');
  const tag = sealedBytes.subarray(sealedBytes.length - tagBytes);
  const nonce = sealedBytes.subarray(0, nonceBytes);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
  decipher.setAAD(associatedDataOf(sealContext)).setAuthTag(tag);
  const ciphertext = sealedBytes.subarray(nonceBytes, sealedBytes.length - tagBytes);
  return Buffer.concat([decipher.update(ciphertext), decipher.final()]);
}

function associatedDataOf({ orgId, recordId, version, purpose }: SealContext): Buffer {
  return Buffer.from(JSON.stringify(['gateway-vault-1', orgId, recordId, version, purpose]));
}

/**
 * Parses MASTER_KEY: base64url keys of 32 bytes each, newest first. Undefined when the text is
 * invalid.
 */
export function parseMasterKeys(text: string): readonly [MasterKey, ...MasterKey[]] | undefined {
  const keys: MasterKey[] = [];
  for (const part of text.split(',').map((each) => each.trim())) {
    const bytes = Buffer.from(part, 'base64url');
    if (!/^[A-Za-z0-9_-]{43}=?$/.test(part) || bytes.length !== keyBytes) return undefined;
    const id = createHash('sha256')
      .update('gateway-master-key\0')
      .update(bytes)
      .digest('hex')
      .slice(0, 16);
    keys.push({ id, key: createSecretKey(bytes) });
  }
  const [newest, ...older] = keys;
  return newest && [newest, ...older];
}
