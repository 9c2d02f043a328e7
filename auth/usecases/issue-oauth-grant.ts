import { v7 as uuidv7 } from 'uuid';

import type { CallContext, Principal, Scope } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { auditOf, nameOf } from '../domain/audit-entry.ts';
import type { Identity } from '../domain/identity.ts';
import { withImplied } from '../domain/oauth-scopes.ts';
import { getIdentity } from '../repository/identities.ts';
import { findOauthBinding } from '../repository/oauth-bindings.ts';
import { touchOauthClient } from '../repository/oauth-clients.ts';
import { insertOauthGrant } from '../repository/oauth-grants.ts';
import type { OauthGrant } from '../repository/oauth-grants.ts';

/** What a client asks its user for. */
export interface AuthorizationRequest {
  readonly clientId: string;
  readonly clientName: string;
  readonly scopes: readonly Scope[];
  readonly resource: string;
}

/** The signed-in user in front of the browser. */
export interface Asked {
  readonly caller: Principal;
  readonly context: CallContext;
  readonly request: AuthorizationRequest;
}

/** A fresh grant for each authorization, so that the end of one chain leaves the client's others alone. */
export async function issueOauthGrant(
  tx: Transaction,
  { caller, context, request }: Asked,
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
    audit: auditOf(
      caller,
      context,
      `${nameOf(caller)} let ${request.clientName} act as ${identity.path.join(' / ')} (${scopes}).`,
    ),
  });
  return grant;
}

/** A grant by what the user agreed to before; undefined when the user must be asked (again). */
export async function renewOauthGrant(
  { db }: Pick<Deps, 'db'>,
  asked: Asked,
): Promise<OauthGrant | undefined> {
  const { caller, request } = asked;
  const { orgId, userId } = caller;
  const binding = await findOauthBinding(db, { orgId, userId, clientId: request.clientId });
  if (binding === undefined) return undefined;
  const agreed = new Set(binding.scopes);
  if (!withImplied(request.scopes).every((scope) => agreed.has(scope))) return undefined;

  const agent = await getIdentity(db, { orgId, id: binding.agentId });
  if (agent.status !== 'active' || isPast(agent.expiresAt)) return undefined;
  return db.transaction((tx) => issueOauthGrant(tx, asked, agent));
}

const isPast = (moment: Date | null) => moment !== null && moment.getTime() <= Date.now();
