import { secretVersionsMax } from '#contracts/http/secrets';
import type { Transaction } from '#database';
import { eraseOldVersions, insertSecretVersion } from '../vault/secret-version.sql.ts';
import type { StoredSecret } from './secret.sql.ts';
import { secretSealContextOf } from '../vault/vault.ts';
import type { Vault } from '../vault/vault.ts';

/** Seals a value as the current version of a secret, and deletes versions beyond the limit. */
export async function storeSecretVersion(
  { tx, vault }: { tx: Transaction; vault: Vault },
  { orgId, secret, createdBy }: { orgId: string; secret: StoredSecret; createdBy: string },
  value: string,
): Promise<void> {
  const { id: secretId, currentVersion: version } = secret;
  const sealedValue = await vault.seal(
    tx,
    secretSealContextOf({ orgId, secretId, version }),
    value,
  );
  await insertSecretVersion(tx, { orgId, secretId, version, sealed: sealedValue, createdBy });
  if (version <= secretVersionsMax) return;
  await eraseOldVersions(tx, { orgId, secretId, upTo: version - secretVersionsMax });
}
