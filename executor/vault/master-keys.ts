import { createSecretKey, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { ConfigError } from '#config';
import type { SecretText } from '#config';
import type { Database } from '#database';
import { nonceBytes, parseMasterKeys, seal, unseal } from './domain/sealing.ts';
import type { SealContext, MasterKey } from './domain/sealing.ts';
import { listDataKeysNotUnder, listMasterKeysInUse, rewrapDataKey } from './data-key.sql.ts';
import type { WrappedDataKey } from './data-key.sql.ts';
import { rememberKeyCheck, replaceKeyCheck } from './key-check.sql.ts';
import type { KeyCheck } from './key-check.sql.ts';

/**
 * The master keys, newest first. Each of them can unwrap data keys. The database contains which one
 * wraps new data keys, and only a rotation changes that. So executors can open each other's data
 * keys even while they get a new master key one after the other.
 */
export type MasterKeys = readonly [MasterKey, ...MasterKey[]];

/**
 * No org has this id. It is used in the seal context of a ciphertext that belongs to the whole
 * deployment.
 */
const deploymentOrgId = '00000000-0000-0000-0000-000000000000';
const checkSealContext: SealContext = {
  orgId: deploymentOrgId,
  recordId: deploymentOrgId,
  version: 1,
  purpose: 'key_check',
};
const batchMax = 500;

export function readMasterKeys(setting: SecretText): MasterKeys {
  const keys = parseMasterKeys(setting.reveal());
  if (keys) return keys;
  throw new ConfigError(
    'MASTER_KEY must be a comma list of keys, newest first, each 32 random bytes in base64url.',
  );
}

/**
 * Throws when the master keys do not open this vault. Without this check, an executor with a wrong
 * key could read no credential, and would seal new credentials with the wrong key.
 */
export async function checkMasterKeys(db: Database, masterKeys: MasterKeys): Promise<void> {
  const keyCheck = await rememberKeyCheck(db, createKeyCheck(masterKeys[0]));
  const masterKeysInUse = await listMasterKeysInUse(db);
  const keysById = new Map(masterKeys.map((key) => [key.id, key]));
  const checkKey = keysById.get(keyCheck.masterKey);
  if (checkKey === undefined || masterKeysInUse.some((id) => !keysById.has(id)))
    throw wrongMasterKeyError();
  try {
    unseal(checkKey.key, keyCheck.sealed, checkSealContext);
  } catch {
    throw wrongMasterKeyError();
  }
}

export function wrapDataKey(
  masterKeys: MasterKeys,
  { orgId, dataKey, masterKey }: { orgId: string; dataKey: KeyObject; masterKey: string },
): WrappedDataKey {
  const { key } = masterKeyOf(masterKeys, masterKey);
  const sealContext = dataKeySealContextOf(orgId);
  const wrappedKey = seal(key, dataKey.export(), { sealContext, nonce: randomBytes(nonceBytes) });
  return { masterKey, wrapped: wrappedKey };
}

export function unwrapDataKey(
  masterKeys: MasterKeys,
  { orgId, masterKey, wrapped }: WrappedDataKey & { orgId: string },
): KeyObject {
  const { key } = masterKeyOf(masterKeys, masterKey);
  return createSecretKey(unseal(key, wrapped, dataKeySealContextOf(orgId)));
}

function masterKeyOf(masterKeys: MasterKeys, id: string): MasterKey {
  const masterKey = masterKeys.find((each) => each.id === id);
  if (masterKey) return masterKey;
  throw new Error(`MASTER_KEY lacks the key ${id}; give it to every executor`);
}

/**
 * Rewraps every data key with the newest master key while calls continue. The ciphertexts that the
 * data keys sealed do not change. Each data key is updated by itself, so the rotation can be killed
 * and restarted at any time. After the rotation, the older master keys are not needed any more.
 */
export async function rotateMasterKey(db: Database, masterKeys: MasterKeys): Promise<number> {
  await checkMasterKeys(db, masterKeys);
  const [newest] = masterKeys;
  await replaceKeyCheck(db, createKeyCheck(newest));
  let rewrappedCount = 0;
  for (;;) {
    const oldDataKeys = await listDataKeysNotUnder(db, { masterKey: newest.id, limit: batchMax });
    for (const oldDataKey of oldDataKeys) {
      const { orgId } = oldDataKey;
      const dataKey = unwrapDataKey(masterKeys, oldDataKey);
      const rewrappedKey = wrapDataKey(masterKeys, { orgId, dataKey, masterKey: newest.id });
      await rewrapDataKey(db, { orgId, from: oldDataKey, to: rewrappedKey });
    }
    rewrappedCount += oldDataKeys.length;
    if (oldDataKeys.length < batchMax) return rewrappedCount;
  }
}

function createKeyCheck({ id, key }: MasterKey): KeyCheck {
  const nonce = randomBytes(nonceBytes);
  const sealedCheck = seal(key, Buffer.from('vault'), { sealContext: checkSealContext, nonce });
  return { masterKey: id, sealed: sealedCheck };
}

function dataKeySealContextOf(orgId: string): SealContext {
  return { orgId, recordId: orgId, version: 1, purpose: 'data_key' };
}

function wrongMasterKeyError(): ConfigError {
  return new ConfigError(
    'MASTER_KEY does not open this vault: give the key it was made with (of several, every one still in use, newest first), or start with an empty database.',
  );
}
