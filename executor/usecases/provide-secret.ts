import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';

import type { provideSecretBody } from '#contracts/http/secret-requests';
import type { Secret } from '#contracts/http/secrets';
import type { CallContext } from '#contracts/vocabulary';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { checkSecretValue, parseHosts } from '../domain/credential-rules.ts';
import { consumeSecretRequest } from '../repository/secret-request.ts';
import { insertSecret } from '../repository/secret.ts';
import { secretProvided } from '../secrets/event.ts';
import { getOpenRequest, nameTaken, usedUp } from '../secrets/get-open-request.ts';
import { presentSecret } from '../secrets/present.ts';
import { refuseOrgWithoutHosts } from '../secrets/refuse-org-without-hosts.ts';
import { storeVersion } from '../secrets/store-version.ts';

interface ProvideSecretFields {
  readonly principal: string;
  readonly token: string;
  readonly body: z.infer<typeof provideSecretBody>;
  readonly context: CallContext;
}

/** Stores the secret that a link asks for, and uses the link up: both or neither. */
export async function provideSecret(
  { db, vault, readPrincipal }: Pick<Deps, 'db' | 'vault' | 'readPrincipal'>,
  { principal: signed, token, body, context }: ProvideSecretFields,
): Promise<Secret & { version: number }> {
  const principal = readPrincipal(signed);
  const { orgId, userId } = principal;
  const stored = await db.transaction(async (tx) => {
    const request = await getOpenRequest(tx, principal, token);
    checkSecretValue(body.value);
    const allowedHosts = parseHosts(body.allowed_hosts);
    refuseOrgWithoutHosts(request.tier, allowedHosts);
    const isFirst = await consumeSecretRequest(tx, { orgId, id: request.id, providedBy: userId });
    if (!isFirst) throw usedUp();
    const secret = await insertSecret(tx, {
      id: uuidv7(),
      orgId,
      name: request.name,
      ownerId: request.ownerId,
      allowedHosts,
      description: body.description ?? null,
      createdBy: userId,
    });
    if (secret === undefined) throw nameTaken(request);
    await storeVersion({ tx, vault }, { orgId, secret, createdBy: userId }, body.value);
    await appendEvent(tx, secretProvided({ principal, context }, { request, secret }));
    return secret;
  });
  return { ...presentSecret(stored), version: stored.currentVersion };
}
