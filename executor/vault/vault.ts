import { generateKeySync, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import type { Tier } from '#contracts/vocabulary';
import type { Database, Sql } from '#database';
import { createLookupCache } from '#cache';
import type { Logger } from '#telemetry';
import { nonceBytes, seal, unseal } from './domain/sealing.ts';
import type { SealContext, SealingPurpose } from './domain/sealing.ts';
import { findDataKey, insertDataKey } from './data-key.sql.ts';
import type { WrappedDataKey } from './data-key.sql.ts';
import { getActiveMasterKey } from './key-check.sql.ts';
import { findSealedSecret } from './secret-version.sql.ts';
import type { SealedSecret } from './secret-version.sql.ts';
import { checkMasterKeys, unwrapDataKey, wrapDataKey } from './master-keys.ts';
import type { MasterKeys } from './master-keys.ts';
import { unreadableError } from './unreadable.ts';

/**
 * A secret with its owner and hosts. Each call of `reveal` decrypts the value; the plaintext is not
 * cached.
 */
export interface UsableSecret {
  readonly tier: Tier;
  readonly ownerId: string | null;
  readonly allowedHosts: readonly string[];
  readonly version: number;
  /**
   * The version that a provider has refused since the last success; null when it has refused none.
   */
  readonly refusedVersion: number | null;
  /** Throws `credential_missing` when the stored value cannot be decrypted. */
  reveal(): string;
}

/** The seal context of a ciphertext that was sealed with an org's data key. */
export type OrgSealContext = SealContext & {
  readonly purpose: Exclude<SealingPurpose, 'data_key' | 'key_check'>;
};

/**
 * Seals and opens every secret value at rest. A ciphertext can be opened only for its own seal
 * context. For any other, the error depends on the purpose (`unreadable.ts`). When the org's data
 * key cannot be opened, the error is `unavailable`.
 */
export interface Vault {
  seal(sql: Sql, sealContext: OrgSealContext, text: string): Promise<Buffer>;
  unseal(sql: Sql, sealContext: OrgSealContext, sealed: Uint8Array): Promise<string>;
  /**
   * Loads the data key once, and returns a synchronous function that opens ciphertexts, for values
   * that are decrypted at each use.
   */
  openerOf(
    sql: Sql,
    orgId: string,
  ): Promise<(sealContext: OrgSealContext, sealed: Uint8Array) => string>;
  findSecret(at: { orgId: string; secretId: string }): Promise<UsableSecret | undefined>;
  /**
   * Drops the cached ciphertexts of a secret that changed, or of all secrets (null). The replica
   * that made the change does so before it answers; the other replicas do so when they receive the
   * event.
   */
  forget(secretId: string | null): void;
}

/** A stored secret, with its org's data key for opening it. */
type OpenableSecret = SealedSecret & { readonly dataKey: KeyObject };

const cachedMs = 1_000;
/**
 * The maximum number of attempts to look up or create a data key. When another replica stores one
 * first, the next attempt finds it.
 */
const wrapAttemptsMax = 4;

/**
 * Opens the vault. Throws when the master keys do not open it, so that the executor does not start.
 */
export async function openVault({
  db,
  masterKeys,
  logger,
}: {
  db: Database;
  masterKeys: MasterKeys;
  logger: Logger;
}): Promise<Vault> {
  await checkMasterKeys(db, masterKeys);

  const unwrapKey = (orgId: string, wrappedKey: WrappedDataKey): KeyObject => {
    try {
      return unwrapDataKey(masterKeys, { orgId, ...wrappedKey });
    } catch (cause) {
      logger.error({ err: cause, orgId }, 'the data key of an org does not open');
      throw unreadableError('data_key', cause);
    }
  };
  const open = (
    dataKey: KeyObject,
    sealContext: OrgSealContext,
    sealedBytes: Uint8Array,
  ): string => {
    try {
      return unseal(dataKey, sealedBytes, sealContext).toString('utf8');
    } catch (cause) {
      logger.error({ err: cause, ...sealContext }, 'a ciphertext does not open');
      throw unreadableError(sealContext.purpose, cause);
    }
  };

  const dataKeyOf = async (sql: Sql, orgId: string) => {
    for (let attempt = 0; attempt < wrapAttemptsMax; attempt += 1) {
      const storedKey = await findDataKey(sql, { orgId });
      if (storedKey) return unwrapKey(orgId, storedKey);
      const masterKey = await getActiveMasterKey(sql);
      const dataKey = generateKeySync('aes', { length: 256 });
      const wrappedKey = wrapDataKey(masterKeys, { orgId, dataKey, masterKey });
      // The insert stores nothing when another replica was first or a rotation began. The next
      // attempt then looks the key up again.
      await insertDataKey(sql, { orgId, ...wrappedKey });
    }
    throw new Error('an org got no data key');
  };

  const secretCache = createSecretCache(db, unwrapKey);

  return {
    async seal(sql, sealContext, text) {
      const dataKey = await dataKeyOf(sql, sealContext.orgId);
      return seal(dataKey, Buffer.from(text, 'utf8'), {
        sealContext,
        nonce: randomBytes(nonceBytes),
      });
    },
    async unseal(sql, sealContext, sealedBytes) {
      const dataKey = await dataKeyOf(sql, sealContext.orgId);
      return open(dataKey, sealContext, sealedBytes);
    },
    async openerOf(sql, orgId) {
      const dataKey = await dataKeyOf(sql, orgId);
      return (sealContext, sealed) => open(dataKey, sealContext, sealed);
    },
    async findSecret({ orgId, secretId }) {
      const cachedSecret = await secretCache.get(`${orgId} ${secretId}`, { orgId, secretId });
      if (!cachedSecret) return undefined;
      const { version, sealed, dataKey } = cachedSecret;
      const reveal = () => open(dataKey, secretSealContextOf({ orgId, secretId, version }), sealed);
      return toUsableSecret(cachedSecret, reveal);
    },
    forget(secretId) {
      secretCache.drop((key) => secretId === null || key.endsWith(secretId));
    },
  };
}

interface SecretCacheKey {
  readonly orgId: string;
  readonly secretId: string;
}

function createSecretCache(
  db: Database,
  unwrapKey: (orgId: string, wrapped: WrappedDataKey) => KeyObject,
) {
  return createLookupCache<SecretCacheKey, OpenableSecret | undefined>({
    max: 5_000,
    ttlMs: cachedMs,
    lookUp: async (secretKey) => {
      const sealedSecret = await findSealedSecret(db, secretKey);
      return sealedSecret && { ...sealedSecret, dataKey: unwrapKey(secretKey.orgId, sealedSecret) };
    },
  });
}

function toUsableSecret(
  { tier, ownerId, allowedHosts, version, refusedVersion }: OpenableSecret,
  reveal: () => string,
): UsableSecret {
  return { tier, ownerId, allowedHosts, version, refusedVersion, reveal };
}

export function secretSealContextOf({
  orgId,
  secretId,
  version,
}: {
  orgId: string;
  secretId: string;
  version: number;
}): OrgSealContext {
  return { orgId, recordId: secretId, version, purpose: 'secret' };
}
