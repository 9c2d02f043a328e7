import type { Secret } from '#contracts/http/secrets';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { findSealedVersion } from '../vault/secret-version.sql.ts';
import { countUpVersion } from './secret.sql.ts';
import { createSecretEvent } from './secret-event.ts';
import { noSuchSecretError } from './get-visible-secret.ts';
import { getWritableSecret } from './get-writable-secret.ts';
import { presentSecret } from './present-secret.ts';
import { storeSecretVersion } from './store-secret-version.ts';
import { secretSealContextOf } from '../vault/vault.ts';

interface RestoreVersionFields {
  readonly principal: string;
  readonly id: string;
  readonly version: number;
  readonly context: CallContext;
}

/** Stores the value of an earlier version as the next version. Existing versions stay unchanged. */
export async function restoreSecretVersion(
  { db, vault, readPrincipal }: Pick<Deps, 'db' | 'vault' | 'readPrincipal'>,
  { principal: signed, id, version, context }: RestoreVersionFields,
): Promise<Secret & { version: number }> {
  const principal = readPrincipal(signed);
  const { orgId, userId } = principal;
  const storedSecret = await db.transaction(async (tx) => {
    await getWritableSecret(tx, principal, id);
    // Locks the secret, so that a concurrent write creates its version either before or after this
    // one.
    const secret = await countUpVersion(tx, { orgId, id });
    if (secret === undefined) throw noSuchSecretError();
    if (version === secret.currentVersion - 1) {
      throw new AppError(
        'conflict',
        `Version ${version} is the current one; there is nothing to restore.`,
      );
    }
    const sealedVersion = await findSealedVersion(tx, { orgId, secretId: id, version });
    if (sealedVersion === undefined) {
      throw new AppError('not_found', `This secret has no version ${version}, or not any more.`);
    }
    const value = await vault.unseal(
      tx,
      secretSealContextOf({ orgId, secretId: id, version }),
      sealedVersion,
    );
    await storeSecretVersion({ tx, vault }, { orgId, secret, createdBy: userId }, value);
    const text = `Restored version ${version} of secret ${secret.name} as version ${secret.currentVersion}`;
    await appendEvent(
      tx,
      createSecretEvent('secret.changed', { principal, context, secret, text }),
    );
    return secret;
  });
  vault.forget(id);
  return { ...presentSecret(storedSecret), version: storedSecret.currentVersion };
}
