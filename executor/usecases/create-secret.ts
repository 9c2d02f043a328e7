import { v7 as uuidv7 } from 'uuid';

import type { createSecretBody, Secret } from '#contracts/http/secrets';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { z } from 'zod';
import { presentSecret } from '../secrets/present.ts';
import { secretEvent } from '../secrets/event.ts';
import type { Deps } from '../deps.ts';
import { checkSecretValue, mayWriteSecret, parseHosts } from '../domain/secret-rules.ts';
import { upsertSecret } from '../repository/secret.ts';
import { insertSecretVersion } from '../repository/secret-version.ts';
import { secretBinding } from '../vault/vault.ts';

/** Stores a secret; a name that exists gets its next version. Hosts that are given replace the earlier ones, absent ones stay. */
export async function createSecret(
  { db, vault, verifyPrincipal }: Pick<Deps, 'db' | 'vault' | 'verifyPrincipal'>,
  { principal: signed, body }: { principal: string; body: z.infer<typeof createSecretBody> },
): Promise<Secret & { version: number }> {
  const principal = verifyPrincipal(signed);
  const { orgId, userId } = principal;
  const tier = body.tier ?? 'user';
  const ownerId = tier === 'user' ? userId : null;
  if (!mayWriteSecret(principal, { tier, ownerId })) {
    const who =
      tier === 'org' ? 'An admin stores secrets of the org' : 'A user stores its own secrets';
    throw new AppError('forbidden', `${who}; ask one to.`);
  }
  checkSecretValue(body.value);
  const allowedHosts = body.allowed_hosts === undefined ? null : parseHosts(body.allowed_hosts);

  const stored = await db.transaction(async (tx) => {
    const secret = await upsertSecret(tx, {
      id: uuidv7(),
      orgId,
      name: body.name,
      ownerId,
      description: body.description ?? null,
      allowedHosts,
      createdBy: userId,
    });
    if (tier === 'org' && secret.allowedHosts.length === 0) {
      throw new AppError(
        'host_not_allowed',
        'Give the hosts that this secret of the org may go to (allowed_hosts).',
      );
    }
    const { id: secretId, currentVersion: version } = secret;
    const sealed = await vault.seal(tx, secretBinding({ orgId, secretId, version }), body.value);
    await insertSecretVersion(tx, { orgId, secretId, version, sealed, createdBy: userId });
    const isNew = version === 1;
    const text = isNew
      ? `Stored secret ${secret.name}`
      : `Stored version ${version} of secret ${secret.name}`;
    await appendEvent(
      tx,
      secretEvent(isNew ? 'secret.created' : 'secret.changed', { principal, secret, text }),
    );
    return secret;
  });
  return { ...presentSecret(stored), version: stored.currentVersion };
}
