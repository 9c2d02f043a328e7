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
 * What a ciphertext belongs to. It is authenticated with it, so that a ciphertext moved to another
 * org, record or version, or used for another purpose, does not open.
 */
export interface Binding {
  readonly orgId: string;
  readonly recordId: string;
  readonly version: number;
  readonly purpose: SealingPurpose;
}

export interface MasterKey {
  /** Names the key in the rows it wrapped; says nothing about it. */
  readonly id: string;
  /** A key object: Node imports plain bytes anew for every cipher, which takes longer than the cipher. */
  readonly key: KeyObject;
}

const keyBytes = 32;
export const nonceBytes = 12;
const tagBytes = 16;

/** AES-256-GCM as `nonce || ciphertext || tag`. `nonce`: 96 random bits, never used before with this key. */
export function seal(
  key: KeyObject,
  plaintext: Uint8Array,
  { binding, nonce }: { binding: Binding; nonce: Uint8Array },
): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(associatedData(binding));
  return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

/** Throws when the ciphertext was not sealed with this key for exactly this binding. */
export function unseal(key: KeyObject, sealed: Uint8Array, binding: Binding): Buffer {
  if (sealed.length < nonceBytes + tagBytes) throw new Error('sealed value is too short');
  const tag = sealed.subarray(sealed.length - tagBytes);
  const nonce = sealed.subarray(0, nonceBytes);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
  decipher.setAAD(associatedData(binding)).setAuthTag(tag);
  const ciphertext = sealed.subarray(nonceBytes, sealed.length - tagBytes);
  return Buffer.concat([decipher.update(ciphertext), decipher.final()]);
}

function associatedData({ orgId, recordId, version, purpose }: Binding): Buffer {
  return Buffer.from(JSON.stringify(['gateway-vault-1', orgId, recordId, version, purpose]));
}

/** Reads MASTER_KEY: base64url of 32 bytes each, newest first. Undefined when it is anything else. */
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
