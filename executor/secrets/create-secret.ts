import { v7 as uuidv7 } from 'uuid';

import type { createSecretBody, Secret } from '#contracts/http/secrets';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { answerOpenRequests } from './answer-open-requests.ts';
import type { z } from 'zod';
import { presentSecret } from './present-secret.ts';
import { createSecretEvent } from './secret-event.ts';
import type { Deps } from '../deps.ts';
import { mayWriteCredential, parseHosts } from '../credentials/domain/credential-rules.ts';
import { checkSecretValue, toStoredSecretValue } from '../credentials/domain/secret-value.ts';
import { upsertSecret } from './secret.sql.ts';
import { requireHostsForOrg } from './domain/require-hosts-for-org.ts';
import { storeSecretVersion } from './store-secret-version.ts';

/**
 * Stores a value as a new secret, or as the next version of an existing secret with this name. If
 * hosts are given, they replace the earlier hosts; otherwise the earlier hosts stay.
 */
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
    const ownerSentence =
      tier === 'org' ? 'An admin stores secrets of the org' : 'A user stores its own secrets';
    throw new AppError('forbidden', `${ownerSentence}; ask one to.`);
  }
  const value = toStoredSecretValue(body.value);
  checkSecretValue(value, { asIs: body.as_is });
  const allowedHosts = body.allowed_hosts === undefined ? null : parseHosts(body.allowed_hosts);

  const storedSecret = await db.transaction(async (tx) => {
    await answerOpenRequests(tx, { principal, context }, { orgId, ownerId, name: body.name });
    const secret = await upsertSecret(tx, {
      id: uuidv7(),
      orgId,
      name: body.name,
      ownerId,
      description: body.description ?? null,
      allowedHosts,
      createdBy: userId,
    });
    requireHostsForOrg(tier, secret.allowedHosts);
    await storeSecretVersion({ tx, vault }, { orgId, secret, createdBy: userId }, value);
    const { currentVersion: version } = secret;
    const isNew = version === 1;
    const text = isNew
      ? `Stored secret ${secret.name}`
      : `Stored version ${version} of secret ${secret.name}`;
    await appendEvent(
      tx,
      createSecretEvent(isNew ? 'secret.created' : 'secret.changed', {
        principal,
        context,
        secret,
        text,
      }),
    );
    return secret;
  });
  vault.forget(storedSecret.id);
  return { ...presentSecret(storedSecret), version: storedSecret.currentVersion };
}
