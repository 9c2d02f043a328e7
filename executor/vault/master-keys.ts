import { createSecretKey, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { ConfigError } from '#config';
import type { SecretText } from '#config';
import type { Database } from '#database';
import { nonceBytes, parseMasterKeys, seal, unseal } from '../domain/sealing.ts';
import type { Binding, MasterKey } from '../domain/sealing.ts';
import {
  listDataKeysNotUnder,
  listMasterKeysInUse,
  rewrapDataKey,
} from '../repository/data-key.ts';
import type { WrappedDataKey } from '../repository/data-key.ts';
import { rememberKeyCheck, replaceKeyCheck } from '../repository/key-check.ts';
import type { KeyCheck } from '../repository/key-check.ts';

/**
 * Key-encryption keys, newest first: all of them unwrap. Which one wraps is in the database, and
 * only a rotation changes it: executors that are given a new key one after the other go on opening
 * what each of them stores.
 */
export type MasterKeys = readonly [MasterKey, ...MasterKey[]];

/** No org has this id: it stands where a ciphertext belongs to the whole deployment. */
const deployment = '00000000-0000-0000-0000-000000000000';
const checkBinding: Binding = {
  orgId: deployment,
  recordId: deployment,
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

/** Refuses, in one sentence, keys that do not open this vault: it would look empty, and be written to with another key. */
export async function checkMasterKeys(db: Database, masterKeys: MasterKeys): Promise<void> {
  const check = await rememberKeyCheck(db, newKeyCheck(masterKeys[0]));
  const inUse = await listMasterKeysInUse(db);
  const known = new Map(masterKeys.map((key) => [key.id, key]));
  const checkKey = known.get(check.masterKey);
  if (checkKey === undefined || inUse.some((id) => !known.has(id))) throw wrongMasterKey();
  try {
    unseal(checkKey.key, check.sealed, checkBinding);
  } catch {
    throw wrongMasterKey();
  }
}

export function wrapDataKey(
  masterKeys: MasterKeys,
  { orgId, dataKey, masterKey }: { orgId: string; dataKey: KeyObject; masterKey: string },
): WrappedDataKey {
  const { key } = masterKeyOf(masterKeys, masterKey);
  const binding = dataKeyBinding(orgId);
  const wrapped = seal(key, dataKey.export(), { binding, nonce: randomBytes(nonceBytes) });
  return { masterKey, wrapped };
}

export function unwrapDataKey(
  masterKeys: MasterKeys,
  { orgId, masterKey, wrapped }: WrappedDataKey & { orgId: string },
): KeyObject {
  const { key } = masterKeyOf(masterKeys, masterKey);
  return createSecretKey(unseal(key, wrapped, dataKeyBinding(orgId)));
}

function masterKeyOf(masterKeys: MasterKeys, id: string): MasterKey {
  const found = masterKeys.find((each) => each.id === id);
  if (found) return found;
  throw new Error(`MASTER_KEY lacks the key ${id}; give it to every executor`);
}

/**
 * Puts every data key under the newest master key, while calls go on. Ciphertexts stay as they
 * are. Each key is one update, so it may be killed and started again at any moment; afterwards
 * the older master keys are needed no more.
 */
export async function rotateMasterKey(db: Database, masterKeys: MasterKeys): Promise<number> {
  await checkMasterKeys(db, masterKeys);
  const [newest] = masterKeys;
  await replaceKeyCheck(db, newKeyCheck(newest));
  let rewrapped = 0;
  for (;;) {
    const old = await listDataKeysNotUnder(db, { masterKey: newest.id, limit: batchMax });
    for (const from of old) {
      const { orgId } = from;
      const dataKey = unwrapDataKey(masterKeys, from);
      const to = wrapDataKey(masterKeys, { orgId, dataKey, masterKey: newest.id });
      await rewrapDataKey(db, { orgId, from, to });
    }
    rewrapped += old.length;
    if (old.length < batchMax) return rewrapped;
  }
}

function newKeyCheck({ id, key }: MasterKey): KeyCheck {
  const nonce = randomBytes(nonceBytes);
  const sealed = seal(key, Buffer.from('vault'), { binding: checkBinding, nonce });
  return { masterKey: id, sealed };
}

function dataKeyBinding(orgId: string): Binding {
  return { orgId, recordId: orgId, version: 1, purpose: 'data_key' };
}

function wrongMasterKey(): ConfigError {
  return new ConfigError(
    'MASTER_KEY does not open this vault: give the key it was made with (of several, every one still in use, newest first), or start with an empty database.',
  );
}
