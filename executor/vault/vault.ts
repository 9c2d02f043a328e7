import { generateKeySync, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import type { Tier } from '#contracts/vocabulary';
import type { Database, Sql } from '#database';
import { createLookupCache } from '#cache';
import type { Logger } from '#telemetry';
import { nonceBytes, seal, unseal } from '../domain/sealing.ts';
import type { Binding, SealingPurpose } from '../domain/sealing.ts';
import { findDataKey, insertDataKey } from '../repository/data-key.ts';
import type { WrappedDataKey } from '../repository/data-key.ts';
import { getActiveMasterKey } from '../repository/key-check.ts';
import { findSealedSecret } from '../repository/secret-version.ts';
import type { SealedSecret } from '../repository/secret-version.ts';
import { checkMasterKeys, unwrapDataKey, wrapDataKey } from './master-keys.ts';
import type { MasterKeys } from './master-keys.ts';
import { unreadable } from './unreadable.ts';

/** A secret as the sender needs it. Its value is decrypted by each `reveal`, and kept nowhere. */
export interface UsableSecret {
  readonly tier: Tier;
  readonly ownerId: string | null;
  readonly allowedHosts: readonly string[];
  /** Throws `credential_missing` when what is stored does not open. */
  reveal(): string;
}

/** A binding of what the data key of an org seals. */
export type OrgBinding = Binding & {
  readonly purpose: Exclude<SealingPurpose, 'data_key' | 'key_check'>;
};

/**
 * Seals and opens. Everything at rest that nobody may read goes through it. What was not sealed for
 * exactly its binding does not open: that is the error of its purpose (`unreadable.ts`), and
 * `unavailable` when it is the org's key that does not.
 */
export interface Vault {
  seal(sql: Sql, binding: OrgBinding, text: string): Promise<Buffer>;
  unseal(sql: Sql, binding: OrgBinding, sealed: Uint8Array): Promise<string>;
  /** `unseal` without waiting, for what is opened on each use and kept nowhere. */
  openerOf(sql: Sql, orgId: string): Promise<(binding: OrgBinding, sealed: Uint8Array) => string>;
  findSecret(at: { orgId: string; secretId: string }): Promise<UsableSecret | undefined>;
  /**
   * Drops cached ciphertexts of a secret that changed, or of all (null). The replica that made the
   * change does so before it answers: the others hear of it a moment later.
   */
  forget(secretId: string | null): void;
}

/** As it is stored, with the key of its org. */
type OpenableSecret = SealedSecret & { readonly dataKey: KeyObject };

const cachedMs = 1_000;
/** The last one finds what the one before stored. */
const wrapAttemptsMax = 4;

/** Opens the vault, or refuses with one sentence when the master key is not the one it was made with. */
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

  const unwrap = (orgId: string, wrapped: WrappedDataKey): KeyObject => {
    try {
      return unwrapDataKey(masterKeys, { orgId, ...wrapped });
    } catch (cause) {
      logger.error({ err: cause, orgId }, 'the data key of an org does not open');
      throw unreadable('data_key', cause);
    }
  };
  const open = (dataKey: KeyObject, binding: OrgBinding, sealed: Uint8Array): string => {
    try {
      return unseal(dataKey, sealed, binding).toString('utf8');
    } catch (cause) {
      logger.error({ err: cause, ...binding }, 'a ciphertext does not open');
      throw unreadable(binding.purpose, cause);
    }
  };

  const dataKeyOf = async (sql: Sql, orgId: string) => {
    for (let attempt = 0; attempt < wrapAttemptsMax; attempt += 1) {
      const known = await findDataKey(sql, { orgId });
      if (known) return unwrap(orgId, known);
      const masterKey = await getActiveMasterKey(sql);
      const dataKey = generateKeySync('aes', { length: 256 });
      const wrapped = wrapDataKey(masterKeys, { orgId, dataKey, masterKey });
      // Not stored when another replica was first, or a rotation began: look again.
      await insertDataKey(sql, { orgId, ...wrapped });
    }
    throw new Error('an org got no data key');
  };

  const secrets = createSecretCache(db, unwrap);

  return {
    async seal(sql, binding, text) {
      const dataKey = await dataKeyOf(sql, binding.orgId);
      return seal(dataKey, Buffer.from(text, 'utf8'), { binding, nonce: randomBytes(nonceBytes) });
    },
    async unseal(sql, binding, sealed) {
      const dataKey = await dataKeyOf(sql, binding.orgId);
      return open(dataKey, binding, sealed);
    },
    async openerOf(sql, orgId) {
      const dataKey = await dataKeyOf(sql, orgId);
      return (binding, sealed) => open(dataKey, binding, sealed);
    },
    async findSecret({ orgId, secretId }) {
      const found = await secrets.get(`${orgId} ${secretId}`, { orgId, secretId });
      if (!found) return undefined;
      const { tier, ownerId, allowedHosts, version, sealed, dataKey } = found;
      const reveal = () => open(dataKey, secretBinding({ orgId, secretId, version }), sealed);
      return { tier, ownerId, allowedHosts, reveal };
    },
    forget(secretId) {
      secrets.drop((key) => secretId === null || key.endsWith(secretId));
    },
  };
}

interface SecretAt {
  readonly orgId: string;
  readonly secretId: string;
}

function createSecretCache(
  db: Database,
  unwrap: (orgId: string, wrapped: WrappedDataKey) => KeyObject,
) {
  return createLookupCache<SecretAt, OpenableSecret | undefined>({
    max: 5_000,
    ttlMs: cachedMs,
    lookUp: async (at) => {
      const found = await findSealedSecret(db, at);
      return found && { ...found, dataKey: unwrap(at.orgId, found) };
    },
  });
}

export function secretBinding({
  orgId,
  secretId,
  version,
}: {
  orgId: string;
  secretId: string;
  version: number;
}): OrgBinding {
  return { orgId, recordId: secretId, version, purpose: 'secret' };
}
