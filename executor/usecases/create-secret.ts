import { v7 as uuidv7 } from 'uuid';

import type { createSecretBody, Secret } from '#contracts/http/secrets';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { z } from 'zod';
import { presentSecret } from '../secrets/present.ts';
import { secretEvent } from '../secrets/event.ts';
import type { Deps } from '../deps.ts';
import { checkSecretValue, mayWriteCredential, parseHosts } from '../domain/credential-rules.ts';
import { upsertSecret } from '../repository/secret.ts';
import { refuseOrgWithoutHosts } from '../secrets/refuse-org-without-hosts.ts';
import { storeVersion } from '../secrets/store-version.ts';

/** Stores a secret; a name that exists gets its next version. Hosts that are given replace the earlier ones, absent ones stay. */
export async function createSecret(
  { db, vault, readPrincipal }: Pick<Deps, 'db' | 'vault' | 'readPrincipal'>,
  {
    principal: signed,
    body,
    context,
  }: { principal: string; body: z.infer<typeof createSecretBody>; context: CallContext },
): Promise<Secret & { version: number }> {
  const principal = readPrincipal(signed);
  const { orgId, userId } = principal;
  const tier = body.tier ?? 'user';
  const ownerId = tier === 'user' ? userId : null;
  if (!mayWriteCredential(principal, { tier, ownerId })) {
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
    refuseOrgWithoutHosts(tier, secret.allowedHosts);
    await storeVersion({ tx, vault }, { orgId, secret, createdBy: userId }, body.value);
    const { currentVersion: version } = secret;
    const isNew = version === 1;
    const text = isNew
      ? `Stored secret ${secret.name}`
      : `Stored version ${version} of secret ${secret.name}`;
    await appendEvent(
      tx,
      secretEvent(isNew ? 'secret.created' : 'secret.changed', {
        principal,
        context,
        secret,
        text,
      }),
    );
    return secret;
  });
  vault.forget(stored.id);
  return { ...presentSecret(stored), version: stored.currentVersion };
}
