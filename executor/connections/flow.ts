import type { Principal } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import { mayWriteCredential } from '../domain/credential-rules.ts';
import { findConnection } from '../repository/connection.ts';
import type { StoredConnection } from '../repository/connection.ts';
import { findConnectionFlow } from '../repository/connection-flow.ts';
import type { StoredFlow } from '../repository/connection-flow.ts';
import { notYours } from './present.ts';
import { requireApp } from './provider-apps.ts';
import type { ProviderApp, ProviderApps } from './provider-apps.ts';

export interface OpenFlow {
  readonly flow: StoredFlow;
  readonly connection: StoredConnection;
  readonly app: ProviderApp;
  /** All that the provider will be asked for. */
  readonly scopes: string[];
  /** All that the token may go to afterwards. */
  readonly hosts: string[];
}

/**
 * An open flow, for the person who may complete it: the owner, or an admin for the org
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
  if (!mayWriteCredential(principal, connection)) throw notYours(connection);
  if (!flow.isOpen || connection.status === 'revoked') {
    throw new AppError(
      'expired',
      'This link was used already or is too old; ask for access again.',
    );
  }
  const app = requireApp(await apps.find({ orgId, provider: flow.provider }), flow.provider);
  return {
    flow,
    connection,
    app,
    scopes: scopesOf(app, flow.scopes),
    hosts: [...new Set([...connection.allowedHosts, ...app.provider.hosts, ...flow.hosts])],
  };
}

export function scopesOf({ provider }: ProviderApp, wanted: readonly string[]): string[] {
  const asked = wanted.length === 0 ? provider.scopes_default : wanted;
  return [...new Set([...asked, ...provider.scopes_always])];
}
