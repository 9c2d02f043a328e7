import { secretVersionsMax } from '#contracts/http/secrets';
import type { Transaction } from '#database';
import { eraseOldVersions, insertSecretVersion } from '../repository/secret-version.ts';
import type { StoredSecret } from '../repository/secret.ts';
import { secretBinding } from '../vault/vault.ts';
import type { Vault } from '../vault/vault.ts';

/** Seals a value as the current version of a secret, and drops versions that are too many. */
export async function storeVersion(
  { tx, vault }: { tx: Transaction; vault: Vault },
  { orgId, secret, createdBy }: { orgId: string; secret: StoredSecret; createdBy: string },
  value: string,
): Promise<void> {
  const { id: secretId, currentVersion: version } = secret;
  const sealed = await vault.seal(tx, secretBinding({ orgId, secretId, version }), value);
  await insertSecretVersion(tx, { orgId, secretId, version, sealed, createdBy });
  if (version <= secretVersionsMax) return;
  await eraseOldVersions(tx, { orgId, secretId, upTo: version - secretVersionsMax });
}
