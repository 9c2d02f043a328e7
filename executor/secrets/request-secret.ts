import { randomBytes } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';

import type { Deadline } from '#bus';
import type { requestSecretBody, SecretRequest } from '#contracts/http/secret-requests';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { hashOfToken, parseRequestTtl, toProvideToken } from './domain/secret-request.ts';
import { parseHosts } from '../credentials/domain/credential-rules.ts';
import { findWantedSecret } from './find-wanted-secret.ts';
import { requirePlainText } from '../person-requests/domain/plain-text.ts';
import type { PersonRequest } from '../person-requests/person-request-row.sql.ts';
import { raiseRequest } from '../person-requests/raise-request.ts';
import { insertSecretRequest } from './secret-request.sql.ts';
import { findRefusedSecret } from './refused-secret.ts';
import type { RefusedSecret } from './refused-secret.ts';
import { createRequestedEvent } from './secret-event.ts';
import { presentSecretRequest } from './present-secret-request.ts';

interface RequestSecretFields {
  readonly principal: string;
  readonly body: z.infer<typeof requestSecretBody>;
  readonly context: CallContext;
}

/**
 * Asks a person for a new secret, or for a new value of a secret that a provider refused. The
 * secret will belong to the caller's user or to the org. The caller gets a link for that person,
 * and never the secret.
 */
export async function requestSecret(
  {
    db,
    owners,
    readPrincipal,
    requestsPerHour,
  }: Pick<Deps, 'db' | 'owners' | 'readPrincipal' | 'requestsPerHour'>,
  { principal: signed, body, context }: RequestSecretFields,
  deadline: Deadline,
): Promise<SecretRequest & { token: string }> {
  const principal = readPrincipal(signed);
  if (principal.role === 'auditor') {
    throw new AppError('forbidden', 'An auditor asks for no secrets; ask a member to.');
  }
  const { orgId, userId } = principal;
  const { name, tier = 'user' } = body;
  const ownerId = tier === 'user' ? userId : null;
  const ttlSeconds = parseRequestTtl(body.ttl);
  const wantedSecret =
    body.template === undefined
      ? null
      : await findWantedSecret(owners, { signed, name, tier, template: body.template }, deadline);
  const suggestedHosts = parseHosts(body.allowed_hosts ?? wantedSecret?.hosts ?? []);
  const token = toProvideToken(randomBytes(32));

  requirePlainText('reason', body.reason);

  return db.transaction(async (tx) => {
    const replaced = await findRefusedSecret(tx, { orgId, ownerId, name, tier });
    const allowedHosts = replaced?.allowedHosts ?? suggestedHosts;
    const by = { principal, context };
    const { request, isNew } = await raiseRequest(tx, {
      by,
      requestsPerHour,
      wanted: {
        id: uuidv7(),
        kind: 'secret',
        tier,
        template: null,
        name,
        actions: [],
        scopes: [],
        hosts: allowedHosts,
        reason: body.reason ?? null,
        connectionId: null,
        ttlSeconds,
      },
    });
    if (!isNew) return { ...presentOpenRequest(request, replaced), token: request.id };
    const storedRequest = await insertSecretRequest(tx, {
      id: request.id,
      orgId,
      name,
      tier,
      ownerId,
      allowedHosts,
      parts: wantedSecret?.parts ?? null,
      ttlSeconds,
      reason: body.reason ?? null,
      requestedBy: request.requester,
      audience: request.chainIds,
      tokenHash: hashOfToken(token),
    });
    await appendEvent(tx, createRequestedEvent(by, storedRequest));
    return { ...presentSecretRequest(storedRequest, replaced), token };
  });
}

/**
 * The request that is open already. Its token is unknown by now, so the link contains the id
 * instead.
 */
function presentOpenRequest(
  request: PersonRequest,
  replaced: RefusedSecret | undefined,
): SecretRequest {
  return {
    id: request.id,
    name: request.name,
    tier: request.tier,
    reason: request.reason,
    allowed_hosts: replaced?.allowedHosts ?? request.hosts,
    ...(replaced === undefined ? {} : { refused_at: replaced.refusedAt.toISOString() }),
    requested_by: request.requester,
    created_at: request.createdAt.toISOString(),
    expires_at: request.expiresAt.toISOString(),
  };
}
