import type { Secret } from '#contracts/http/secrets';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { findSealedVersion } from '../repository/secret-version.ts';
import { countUpVersion } from '../repository/secret.ts';
import { secretEvent } from '../secrets/event.ts';
import { noSuchSecret } from '../secrets/get-visible.ts';
import { getWritableSecret } from '../secrets/get-writable.ts';
import { presentSecret } from '../secrets/present.ts';
import { storeVersion } from '../secrets/store-version.ts';
import { secretBinding } from '../vault/vault.ts';

interface RestoreVersionFields {
  readonly principal: string;
  readonly id: string;
  readonly version: number;
  readonly context: CallContext;
}

/** Goes back to an earlier value by storing it as the next version: the history only grows. */
export async function restoreSecretVersion(
  { db, vault, readPrincipal }: Pick<Deps, 'db' | 'vault' | 'readPrincipal'>,
  { principal: signed, id, version, context }: RestoreVersionFields,
): Promise<Secret & { version: number }> {
  const principal = readPrincipal(signed);
  const { orgId, userId } = principal;
  const stored = await db.transaction(async (tx) => {
    await getWritableSecret(tx, principal, id);
    // Locks the secret: a version stored meanwhile comes before or after this one.
    const secret = await countUpVersion(tx, { orgId, id });
    if (secret === undefined) throw noSuchSecret();
    if (version === secret.currentVersion - 1) {
      throw new AppError(
        'conflict',
        `Version ${version} is the current one; there is nothing to restore.`,
      );
    }
    const sealed = await findSealedVersion(tx, { orgId, secretId: id, version });
    if (sealed === undefined) {
      throw new AppError('not_found', `This secret has no version ${version}, or not any more.`);
    }
    const value = await vault.unseal(tx, secretBinding({ orgId, secretId: id, version }), sealed);
    await storeVersion({ tx, vault }, { orgId, secret, createdBy: userId }, value);
    const text = `Restored version ${version} of secret ${secret.name} as version ${secret.currentVersion}`;
    await appendEvent(tx, secretEvent('secret.changed', { principal, context, secret, text }));
    return secret;
  });
  vault.forget(id);
  return { ...presentSecret(stored), version: stored.currentVersion };
}
