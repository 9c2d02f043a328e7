import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';

import type { provideSecretBody } from '#contracts/http/secret-requests';
import type { Secret } from '#contracts/http/secrets';
import type { CallContext } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { appendEvent } from '#events';
import type { Actor } from '../credentials/actor.ts';
import type { Deps } from '../deps.ts';
import { findRequest } from '../person-requests/person-request.sql.ts';
import { closerOf, settleInTransaction } from '../person-requests/settle-request.ts';
import { parseHosts } from '../credentials/domain/credential-rules.ts';
import { checkSecretValue, toStoredSecretValue } from '../credentials/domain/secret-value.ts';
import { consumeSecretRequest } from './secret-request.sql.ts';
import type { SecretRequestRow } from './secret-request.sql.ts';
import { insertSecret } from './secret.sql.ts';
import { createProvidedEvent } from './secret-event.ts';
import {
  getOpenSecretRequest,
  nameTakenError,
  linkAlreadyUsedError,
} from './get-open-secret-request.ts';
import { presentSecret } from './present-secret.ts';
import { findRefusedSecret, replaceRefusedSecret } from './refused-secret.ts';
import { requireHostsForOrg } from './domain/require-hosts-for-org.ts';
import { storeSecretVersion } from './store-secret-version.ts';

interface ProvideSecretFields {
  readonly principal: string;
  readonly token: string;
  readonly body: z.infer<typeof provideSecretBody>;
  readonly context: CallContext;
}

/**
 * Closes the request as ready. A link that was created by an executor of an earlier release has no
 * such request.
 */
async function finishOpenRequest(
  tx: Transaction,
  by: Actor,
  { orgId, id }: SecretRequestRow,
): Promise<void> {
  const request = await findRequest(tx, { orgId, id });
  if (request === undefined) return;
  const closed = await settleInTransaction(tx, closerOf(by), { request, status: 'ready' });
  if (closed === undefined) throw linkAlreadyUsedError();
}

/** Stores the secret that a person entered, and marks the link as used, in one transaction. */
export async function provideSecret(
  { db, vault, readPrincipal }: Pick<Deps, 'db' | 'vault' | 'readPrincipal'>,
  { principal: signed, token, body, context }: ProvideSecretFields,
): Promise<Secret & { version: number }> {
  const principal = readPrincipal(signed);
  const { orgId, userId } = principal;
  const storedSecret = await db.transaction(async (tx) => {
    const request = await getOpenSecretRequest(tx, principal, token);
    const value = toStoredSecretValue(body.value);
    checkSecretValue(value, { asIs: body.as_is });
    const allowedHosts = parseHosts(body.allowed_hosts);
    requireHostsForOrg(request.tier, allowedHosts);
    // Declining a request locks these two rows in the same order, so there is no deadlock.
    await finishOpenRequest(tx, { principal, context }, request);
    const isLinkConsumed = await consumeSecretRequest(tx, {
      orgId,
      id: request.id,
      providedBy: userId,
    });
    if (!isLinkConsumed) throw linkAlreadyUsedError();
    const replaced = await findRefusedSecret(tx, request);
    const store = replaced === undefined ? insertSecret : replaceRefusedSecret;
    const secret = await store(tx, {
      id: uuidv7(),
      orgId,
      name: request.name,
      ownerId: request.ownerId,
      allowedHosts,
      description: body.description ?? null,
      createdBy: userId,
    });
    if (secret === undefined) throw nameTakenError(request);
    await storeSecretVersion({ tx, vault }, { orgId, secret, createdBy: userId }, value);
    await appendEvent(tx, createProvidedEvent({ principal, context }, { request, secret }));
    return secret;
  });
  vault.forget(storedSecret.id);
  return { ...presentSecret(storedSecret), version: storedSecret.currentVersion };
}
