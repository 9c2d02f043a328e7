import type { z } from 'zod';

import type { Secret, updateSecretBody } from '#contracts/http/secrets';
import type { CallContext } from '#contracts/vocabulary';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { parseHosts } from '../credentials/domain/credential-rules.ts';
import { updateSecret as updateStoredSecret } from './secret.sql.ts';
import { createSecretEvent } from './secret-event.ts';
import { noSuchSecretError } from './get-visible-secret.ts';
import { getWritableSecret } from './get-writable-secret.ts';
import { presentSecret } from './present-secret.ts';
import { requireHostsForOrg } from './domain/require-hosts-for-org.ts';

interface UpdateSecretFields {
  readonly principal: string;
  readonly id: string;
  readonly body: z.infer<typeof updateSecretBody>;
  readonly context: CallContext;
}

/** Changes the description or the hosts of a secret. Calls use the new hosts within a second. */
export async function updateSecret(
  { db, vault, readPrincipal }: Pick<Deps, 'db' | 'vault' | 'readPrincipal'>,
  { principal: signed, id, body, context }: UpdateSecretFields,
): Promise<Secret> {
  const principal = readPrincipal(signed);
  const { orgId } = principal;
  const storedSecret = await db.transaction(async (tx) => {
    const { tier } = await getWritableSecret(tx, principal, id);
    const allowedHosts = body.allowed_hosts && parseHosts(body.allowed_hosts);
    if (allowedHosts !== undefined) requireHostsForOrg(tier, allowedHosts);
    const { description } = body;
    const secret = await updateStoredSecret(tx, { orgId, id, description, allowedHosts });
    if (secret === undefined) throw noSuchSecretError();
    const text = [
      ...(description === undefined ? [] : [`Changed the description of secret ${secret.name}`]),
      ...(allowedHosts === undefined
        ? []
        : [`Let secret ${secret.name} go to ${allowedHosts.join(', ') || 'no host'} alone`]),
    ].join('; ');
    await appendEvent(
      tx,
      createSecretEvent('secret.changed', { principal, context, secret, text }),
    );
    return secret;
  });
  vault.forget(id);
  return presentSecret(storedSecret);
}
