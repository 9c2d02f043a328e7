import { createHmac } from 'node:crypto';

import type { FastifyRequest } from 'fastify';

import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { hashToken } from '../credentials/domain/checked-token.ts';
import type { OauthClient } from '../oauth-clients/domain/oauth-client.ts';
import type { OauthDeps } from './deps.ts';
import { findClient } from './find-client.ts';
import type { AuthorizationRequest } from './issue-oauth-grant.ts';
import { findInteraction } from './oauth-interactions.sql.ts';
import { oauthPaths } from './paths.ts';
import { describeRequest } from './provider.ts';
import { callerOf, sessionTokenOf } from './session-caller.ts';

/** An authorization request that waits for the decision of the signed-in user. */
export interface WaitingAuthorization {
  readonly id: string;
  readonly interaction: Buffer;
  readonly caller: Principal;
  readonly client: OauthClient;
  readonly request: AuthorizationRequest;
  readonly redirectUri: string;
  readonly formToken: string;
  readonly continueAt: string;
}

export async function findWaitingAuthorization(
  deps: OauthDeps,
  request: FastifyRequest,
): Promise<WaitingAuthorization> {
  const { id } = request.query as { id?: unknown };
  const sessionToken = sessionTokenOf(request, deps);
  const caller = await callerOf(deps, request);
  if (typeof id !== 'string' || caller === null || sessionToken === undefined)
    throw requestEndedError();
  const interaction = hashToken(id);
  const { orgId } = caller;
  const key = { orgId, sessionId: caller.credential.id, hash: interaction };
  const payload = await findInteraction(deps.db, key);
  const parameters = payload?.['params'] as Record<string, string> | undefined;
  if (parameters === undefined || payload?.['result'] !== undefined) throw requestEndedError();
  const client = await findClient(deps, parameters['client_id'] ?? '', { mayFetch: true });
  if (client === undefined) throw requestEndedError();
  return {
    id,
    interaction,
    caller,
    client,
    request: describeRequest(deps, {
      clientId: client.id,
      clientName: client.name,
      scope: parameters['scope'],
    }),
    redirectUri: parameters['redirect_uri'] ?? '',
    // Only pages that the gateway rendered for this session contain this token.
    formToken: createHmac('sha256', sessionToken).update(`consent ${id}`).digest('base64url'),
    continueAt: `${oauthPaths.authorize}/${encodeURIComponent(id)}`,
  };
}

export async function hasAuthorizationEnded(
  { db }: OauthDeps,
  { caller, interaction }: WaitingAuthorization,
): Promise<boolean> {
  const key = { orgId: caller.orgId, sessionId: caller.credential.id, hash: interaction };
  const payload = await findInteraction(db, key);
  return payload === undefined || payload['result'] !== undefined;
}

const requestEndedError = () =>
  new AppError('expired', 'This request was answered before, or waited for more than ten minutes.');
