import { generateKeySync, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import type { Tier } from '#contracts/vocabulary';
import type { Database, Sql } from '#database';
import { createCache } from '../caching.ts';
import { nonceBytes, seal, unseal } from '../domain/sealing.ts';
import type { Binding } from '../domain/sealing.ts';
import { findDataKey, insertDataKey } from '../repository/data-key.ts';
import { findSealedSecret } from '../repository/secret-version.ts';
import type { SealedSecret } from '../repository/secret-version.ts';
import { checkMasterKeys, unwrapDataKey, wrapDataKey } from './master-keys.ts';
import type { MasterKeys } from './master-keys.ts';

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
  /** `unseal` without waiting, for what is opened on each use and kept nowhere. */
  openerOf(sql: Sql, orgId: string): Promise<(binding: Binding, sealed: Uint8Array) => string>;
  findSecret(at: { orgId: string; secretId: string }): Promise<UsableSecret | undefined>;
  /** Drops cached ciphertexts of a secret that changed, or of all (null). */
  forget(secretId: string | null): void;
}

/** As it is stored, with the key of its org. */
type OpenableSecret = SealedSecret & { readonly dataKey: KeyObject };

const cachedMs = 1_000;

/** Opens the vault, or refuses with one sentence when the master key is not the one it was made with. */
export async function openVault({
  db,
  masterKeys,
}: {
  db: Database;
  masterKeys: MasterKeys;
}): Promise<Vault> {
  await checkMasterKeys(db, masterKeys);

  const dataKeyOf = async (sql: Sql, orgId: string) => {
    const known = await findDataKey(sql, { orgId });
    if (known) return unwrapDataKey(masterKeys, { orgId, ...known });
    const wrapped = wrapDataKey(masterKeys, {
      orgId,
      dataKey: generateKeySync('aes', { length: 256 }),
    });
    await insertDataKey(sql, { orgId, ...wrapped });
    const stored = await findDataKey(sql, { orgId });
    if (!stored) throw new Error('the data key of an org vanished');
    return unwrapDataKey(masterKeys, { orgId, ...stored });
  };

  const secrets = createCache<{ orgId: string; secretId: string }, OpenableSecret>({
    max: 5_000,
    ttlMs: cachedMs,
    fetch: async (at) => {
      const found = await findSealedSecret(db, at);
      return (
        found && { ...found, dataKey: unwrapDataKey(masterKeys, { orgId: at.orgId, ...found }) }
      );
    },
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
    async openerOf(sql, orgId) {
      const dataKey = await dataKeyOf(sql, orgId);
      return (binding, sealed) => unseal(dataKey, sealed, binding).toString('utf8');
    },
    async findSecret({ orgId, secretId }) {
      const found = await secrets.get(`${orgId} ${secretId}`, { orgId, secretId });
      if (!found) return undefined;
      const { tier, ownerId, allowedHosts, version, sealed, dataKey } = found;
      const reveal = () => {
        const binding = secretBinding({ orgId, secretId, version });
        return unseal(dataKey, sealed, binding).toString('utf8');
      };
      return { tier, ownerId, allowedHosts, reveal };
    },
    forget(secretId) {
      secrets.drop((key) => secretId === null || key.endsWith(secretId));
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
