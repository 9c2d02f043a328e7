import { randomBytes } from 'node:crypto';

import { LRUCache } from 'lru-cache';

import { ConfigError } from '#config';
import type { Tier } from '#contracts/vocabulary';
import type { Database, Sql } from '#database';
import { keyBytes, nonceBytes, seal, unseal } from '../domain/sealing.ts';
import type { Binding, MasterKey } from '../domain/sealing.ts';
import { findDataKey, insertDataKey, listMasterKeysInUse } from '../repository/data-key.ts';
import { rememberKeyCheck } from '../repository/key-check.ts';
import { findSealedSecret } from '../repository/secret-version.ts';
import type { SealedSecret } from '../repository/secret-version.ts';

/** A secret as the sender needs it. Its value is decrypted by each `reveal`, and kept nowhere. */
export interface UsableSecret {
  readonly tier: Tier;
  readonly ownerId: string | null;
  readonly allowedHosts: readonly string[];
  reveal(): string;
}

/** Seals and opens. Everything at rest that nobody may read goes through it. */
export interface Vault {
  seal(sql: Sql, binding: Binding, text: string): Promise<Buffer>;
  /** Throws when it was not sealed for exactly this binding. */
  unseal(sql: Sql, binding: Binding, sealed: Uint8Array): Promise<string>;
  findSecret(at: { orgId: string; secretId: string }): Promise<UsableSecret | undefined>;
  /** Drops cached ciphertexts of a secret that changed, or of all (null). */
  forget(secretId: string | null): void;
}

/** No org has this id: it stands where a ciphertext belongs to the whole deployment. */
const deployment = '00000000-0000-0000-0000-000000000000';
const cachedMs = 1_000;

/** Opens the vault, or refuses with one sentence when the master key is not the one it was made with. */
export async function openVault({
  db,
  masterKeys,
}: {
  db: Database;
  masterKeys: readonly [MasterKey, ...MasterKey[]];
}): Promise<Vault> {
  const [newest] = masterKeys;
  await checkMasterKeys(db, masterKeys);

  const unwrap = (
    orgId: string,
    { masterKey, wrapped }: { masterKey: string; wrapped: Buffer },
  ) => {
    const key = masterKeys.find((each) => each.id === masterKey);
    if (key === undefined) throw new Error(`no master key ${masterKey} to open a data key with`);
    return unseal(key.bytes, wrapped, dataKeyBinding(orgId));
  };
  const dataKeyOf = async (sql: Sql, orgId: string) => {
    const known = await findDataKey(sql, { orgId });
    if (known) return unwrap(orgId, known);
    const binding = dataKeyBinding(orgId);
    const wrapped = seal(newest.bytes, randomBytes(keyBytes), {
      binding,
      nonce: randomBytes(nonceBytes),
    });
    await insertDataKey(sql, { orgId, masterKey: newest.id, wrapped });
    const stored = await findDataKey(sql, { orgId });
    if (!stored) throw new Error('the data key of an org vanished');
    return unwrap(orgId, stored);
  };

  const secrets = new LRUCache<string, SealedSecret, { orgId: string; secretId: string }>({
    max: 5_000,
    ttl: cachedMs,
    fetchMethod: (_key, _stale, { context }) => findSealedSecret(db, context),
  });

  return {
    async seal(sql, binding, text) {
      const dataKey = await dataKeyOf(sql, binding.orgId);
      return seal(dataKey, Buffer.from(text, 'utf8'), { binding, nonce: randomBytes(nonceBytes) });
    },
    async unseal(sql, binding, sealed) {
      const dataKey = await dataKeyOf(sql, binding.orgId);
      return unseal(dataKey, sealed, binding).toString('utf8');
    },
    async findSecret({ orgId, secretId }) {
      const found = await secrets.fetch(`${orgId} ${secretId}`, { context: { orgId, secretId } });
      if (!found) return undefined;
      const { tier, ownerId, allowedHosts } = found;
      const reveal = () => {
        const binding = secretBinding({ orgId, secretId, version: found.version });
        return unseal(unwrap(orgId, found), found.sealed, binding).toString('utf8');
      };
      return { tier, ownerId, allowedHosts, reveal };
    },
    forget(secretId) {
      if (secretId === null) return secrets.clear();
      for (const key of secrets.keys()) if (key.endsWith(secretId)) secrets.delete(key);
    },
  };
}

export function secretBinding({
  orgId,
  secretId,
  version,
}: {
  orgId: string;
  secretId: string;
  version: number;
}): Binding {
  return { orgId, recordId: secretId, version, purpose: 'secret' };
}

function dataKeyBinding(orgId: string): Binding {
  return { orgId, recordId: orgId, version: 1, purpose: 'data_key' };
}

async function checkMasterKeys(
  db: Database,
  masterKeys: readonly [MasterKey, ...MasterKey[]],
): Promise<void> {
  const [newest] = masterKeys;
  const binding: Binding = {
    orgId: deployment,
    recordId: deployment,
    version: 1,
    purpose: 'key_check',
  };
  const sealed = seal(newest.bytes, Buffer.from('vault'), {
    binding,
    nonce: randomBytes(nonceBytes),
  });
  const check = await rememberKeyCheck(db, { masterKey: newest.id, sealed });
  const inUse = await listMasterKeysInUse(db);
  const known = new Map(masterKeys.map((key) => [key.id, key]));
  const checkKey = known.get(check.masterKey);
  if (checkKey === undefined || inUse.some((id) => !known.has(id))) throw wrongMasterKey();
  try {
    unseal(checkKey.bytes, check.sealed, binding);
  } catch {
    throw wrongMasterKey();
  }
}

function wrongMasterKey(): ConfigError {
  return new ConfigError(
    'MASTER_KEY does not open this vault: give the key it was made with (of several, every one still in use, newest first), or start with an empty database.',
  );
}
