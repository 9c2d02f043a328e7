import type { Principal } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import { missingScopes, scopeRowOf } from '#providers';
import { mayWriteCredential } from '../credentials/domain/credential-rules.ts';
import { findConnection } from './connection.sql.ts';
import type { StoredConnection } from './connection.sql.ts';
import { findConnectionFlow } from './connection-flow.sql.ts';
import type { StoredFlow } from './connection-flow.sql.ts';
import { connectionForbiddenError } from './present-connection.ts';
import { requireApp } from '../providers/provider-apps.ts';
import type { ProviderApp, ProviderApps } from '../providers/provider-apps.ts';

/** The most scopes that one link requests from the provider. */
const scopesMax = 100;

export interface OpenFlow {
  readonly flow: StoredFlow;
  readonly connection: StoredConnection;
  readonly app: ProviderApp;
  /** All scopes that the flow requests from the provider, including those granted before. */
  readonly scopes: string[];
  /** All hosts to which the token may go after the flow. */
  readonly hosts: string[];
}

/**
 * Returns an open flow to the person who may complete it: the owner, or an admin for the org
 * (docs/reference/credentials.md#connections).
 */
export async function getOpenFlow(
  { db, apps }: { db: Sql; apps: ProviderApps },
  principal: Principal,
  id: string,
): Promise<OpenFlow> {
  const { orgId } = principal;
  const flow = await findConnectionFlow(db, { orgId, id });
  const connection = flow && (await findConnection(db, { orgId, id: flow.connectionId }));
  if (flow === undefined || connection === undefined) {
    throw new AppError('not_found', 'There is no such request; ask for access again.');
  }
  if (!mayWriteCredential(principal, connection)) throw connectionForbiddenError(connection);
  if (!flow.isOpen || connection.status === 'revoked') throw linkEndedError(flow, connection);
  const { provider } = flow;
  const { actsAs } = connection;
  const app = requireApp(await apps.find({ orgId, provider, actsAs }), provider);
  return {
    flow,
    connection,
    app,
    scopes: scopesOf(app, flow.scopes),
    hosts: [...new Set([...connection.allowedHosts, ...app.provider.hosts, ...flow.hosts])],
  };
}

/**
 * The error for a link that has ended. Its details show what the person can do: `connected` means
 * that nothing is left to do; otherwise the connection and the scopes are for a new link.
 */
export function linkEndedError(flow: StoredFlow, connection: StoredConnection): AppError {
  const { id, status, provider, grantedScopes } = connection;
  if (status === 'revoked') {
    return new AppError(
      'expired',
      'This account was disconnected, and the link ended with it. Whoever needs the account has to ask for access again.',
      { details: { reason: 'revoked' } },
    );
  }
  const needed = { granted: grantedScopes, alternatives: [flow.scopes] };
  const missing = missingScopes(scopeRowOf(provider), needed);
  if (status === 'active' && missing.length === 0) {
    return new AppError(
      'expired',
      'The account is connected, with all the access that this link was for. There is nothing left to do here.',
      { details: { reason: 'connected' } },
    );
  }
  return new AppError(
    'expired',
    'This link was used already or is too old, and the access was not granted. Begin again for a new one.',
    { details: { reason: 'not_granted', connection_id: id, missing: missing.slice(0, scopesMax) } },
  );
}

export function scopesOf({ provider }: ProviderApp, requestedScopes: readonly string[]): string[] {
  const effectiveScopes = requestedScopes.length === 0 ? provider.scopes_default : requestedScopes;
  return [...new Set([...effectiveScopes, ...provider.scopes_always])];
}
