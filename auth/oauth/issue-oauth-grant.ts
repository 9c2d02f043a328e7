import { v7 as uuidv7 } from 'uuid';

import type { CallContext, Principal, Scope } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { auditEntryOf, callerNameOf } from '../callers/domain/audit-entry.ts';
import type { Identity } from '../identities/domain/identity.ts';
import { withImpliedScopes } from './domain/oauth-scopes.ts';
import { getIdentity } from '../identities/identities.sql.ts';
import { findOauthBinding } from '../oauth-clients/oauth-bindings.sql.ts';
import { touchOauthClient } from '../oauth-clients/oauth-clients.sql.ts';
import { insertOauthGrant } from '../oauth-clients/oauth-grants.sql.ts';
import type { OauthGrant } from '../oauth-clients/oauth-grants.sql.ts';

/** What a client asks the user to allow. */
export interface AuthorizationRequest {
  readonly clientId: string;
  readonly clientName: string;
  readonly scopes: readonly Scope[];
  readonly resource: string;
}

/** An authorization request with the signed-in user who decides it. */
export interface UserAuthorization {
  readonly caller: Principal;
  readonly context: CallContext;
  readonly request: AuthorizationRequest;
}

/**
 * Creates a new grant for each authorization, so that ending one grant leaves the client's other
 * grants valid.
 */
export async function issueOauthGrant(
  tx: Transaction,
  { caller, context, request }: UserAuthorization,
  identity: Identity,
): Promise<OauthGrant> {
  const { orgId, userId } = caller;
  const grant = await insertOauthGrant(tx, {
    id: uuidv7(),
    orgId,
    userId,
    identityId: identity.id,
    clientId: request.clientId,
    scopes: request.scopes,
    resource: request.resource,
  });
  if (grant === undefined) {
    throw new AppError(
      'forbidden',
      'This identity cannot be used any more, or an admin has shut this client out of the org.',
    );
  }
  await touchOauthClient(tx, { id: request.clientId });
  const scopes = request.scopes.join(' ');
  await appendEvent(tx, {
    type: 'oauth_grant.created',
    orgId,
    audience: identity.lineage,
    data: {
      grant_id: grant.id,
      client_id: request.clientId,
      user_id: userId,
      identity_id: identity.id,
      scopes,
    },
    audit: auditEntryOf(
      caller,
      context,
      `${callerNameOf(caller)} let ${request.clientName} act as ${identity.path.join(' / ')} (${scopes}).`,
    ),
  });
  return grant;
}

/**
 * Creates a grant within the scopes that the user agreed to before. Undefined when the user must
 * consent first.
 */
export async function renewOauthGrant(
  { db }: Pick<Deps, 'db'>,
  authorization: UserAuthorization,
): Promise<OauthGrant | undefined> {
  const { caller, request } = authorization;
  const { orgId, userId } = caller;
  const binding = await findOauthBinding(db, { orgId, userId, clientId: request.clientId });
  if (binding === undefined) return undefined;
  const agreedScopes = new Set(binding.scopes);
  if (!withImpliedScopes(request.scopes).every((scope) => agreedScopes.has(scope)))
    return undefined;

  const agent = await getIdentity(db, { orgId, id: binding.agentId });
  if (agent.status !== 'active' || isPast(agent.expiresAt)) return undefined;
  return db.transaction((tx) => issueOauthGrant(tx, authorization, agent));
}

const isPast = (moment: Date | null) => moment !== null && moment.getTime() <= Date.now();
