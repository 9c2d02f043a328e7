import type { z } from 'zod';

import type { Secret, updateSecretBody } from '#contracts/http/secrets';
import type { CallContext } from '#contracts/vocabulary';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { parseHosts } from '../domain/credential-rules.ts';
import { updateSecret as updateStoredSecret } from '../repository/secret.ts';
import { secretEvent } from '../secrets/event.ts';
import { noSuchSecret } from '../secrets/get-visible.ts';
import { getWritableSecret } from '../secrets/get-writable.ts';
import { presentSecret } from '../secrets/present.ts';
import { refuseOrgWithoutHosts } from '../secrets/refuse-org-without-hosts.ts';

interface UpdateSecretFields {
  readonly principal: string;
  readonly id: string;
  readonly body: z.infer<typeof updateSecretBody>;
  readonly context: CallContext;
}

/** Changes what is said of a secret, or where it may go. Calls feel it within a second. */
export async function updateSecret(
  { db, vault, readPrincipal }: Pick<Deps, 'db' | 'vault' | 'readPrincipal'>,
  { principal: signed, id, body, context }: UpdateSecretFields,
): Promise<Secret> {
  const principal = readPrincipal(signed);
  const { orgId } = principal;
  const stored = await db.transaction(async (tx) => {
    const { tier } = await getWritableSecret(tx, principal, id);
    const allowedHosts = body.allowed_hosts && parseHosts(body.allowed_hosts);
    if (allowedHosts !== undefined) refuseOrgWithoutHosts(tier, allowedHosts);
    const { description } = body;
    const secret = await updateStoredSecret(tx, { orgId, id, description, allowedHosts });
    if (secret === undefined) throw noSuchSecret();
    const text = [
      ...(description === undefined ? [] : [`Changed the description of secret ${secret.name}`]),
      ...(allowedHosts === undefined
        ? []
        : [`Let secret ${secret.name} go to ${allowedHosts.join(', ') || 'no host'} alone`]),
    ].join('; ');
    await appendEvent(tx, secretEvent('secret.changed', { principal, context, secret, text }));
    return secret;
  });
  vault.forget(id);
  return presentSecret(stored);
}
