import { randomBytes } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';

import type { requestSecretBody, SecretRequest } from '#contracts/http/secret-requests';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import {
  hashOfToken,
  openRequestsMax,
  parseRequestTtl,
  provideTokenOf,
} from '../domain/secret-request.ts';
import { parseHosts } from '../domain/credential-rules.ts';
import { takeRequest } from '../requests/take-request.ts';
import { findFullFor, insertSecretRequest } from '../repository/secret-request.ts';
import { findNamedSecret } from '../repository/secret.ts';
import { identityOf, secretRequested } from '../secrets/event.ts';
import { nameTaken } from '../secrets/get-open-request.ts';
import { presentSecretRequest } from '../secrets/present-request.ts';

interface RequestSecretFields {
  readonly principal: string;
  readonly body: z.infer<typeof requestSecretBody>;
  readonly context: CallContext;
}

/**
 * Asks for a new secret, of the caller's user or of the org. Whoever asks gets a link for a
 * person, and never what the person enters there.
 */
export async function requestSecret(
  { db, readPrincipal, requestsPerHour }: Pick<Deps, 'db' | 'readPrincipal' | 'requestsPerHour'>,
  { principal: signed, body, context }: RequestSecretFields,
): Promise<SecretRequest & { token: string }> {
  const principal = readPrincipal(signed);
  if (principal.role === 'auditor') {
    throw new AppError('forbidden', 'An auditor asks for no secrets; ask a member to.');
  }
  const { orgId, identityId, userId, chain } = principal;
  const { name, tier = 'user' } = body;
  const ownerId = tier === 'user' ? userId : null;
  const ttlSeconds = parseRequestTtl(body.ttl);
  const allowedHosts = parseHosts(body.allowed_hosts ?? []);
  const token = provideTokenOf(randomBytes(32));

  const stored = await db.transaction(async (tx) => {
    const seconds = await findFullFor(tx, { orgId, requesterId: identityId, max: openRequestsMax });
    if (seconds !== null) {
      throw new AppError(
        'rate_limited',
        `You have ${openRequestsMax} open requests for secrets; wait until one is answered or has run out.`,
        { details: { retry_after: seconds } },
      );
    }
    await takeRequest(tx, principal, requestsPerHour);
    if (await findNamedSecret(tx, { orgId, ownerId, name })) throw nameTaken({ tier, name });
    const request = await insertSecretRequest(tx, {
      id: uuidv7(),
      orgId,
      name,
      tier,
      ownerId,
      allowedHosts,
      ttlSeconds,
      reason: body.reason ?? null,
      requestedBy: identityOf(principal),
      audience: chain.map(({ id }) => id),
      tokenHash: hashOfToken(token),
    });
    await appendEvent(tx, secretRequested({ principal, context }, request));
    return request;
  });
  return { ...presentSecretRequest(stored), token };
}
