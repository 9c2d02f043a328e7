import type { Connection } from '#contracts/http/connections';
import type { Principal } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import { mayWriteCredential, maySeeCredential } from '../domain/credential-rules.ts';
import { findConnection } from '../repository/connection.ts';
import type { StoredConnection } from '../repository/connection.ts';

export function presentConnection(connection: StoredConnection): Connection {
  return {
    id: connection.id,
    name: connection.name,
    provider: connection.provider,
    template: connection.template,
    tier: connection.tier,
    owner_id: connection.ownerId,
    account_label: connection.accountLabel,
    granted_scopes: connection.grantedScopes,
    hosts: connection.allowedHosts,
    status: connection.status,
    expires_at: connection.expiresAt?.toISOString() ?? null,
    last_refreshed_at: connection.lastRefreshedAt?.toISOString() ?? null,
    created_at: connection.createdAt.toISOString(),
  };
}

/** A connection the caller may know of; one it may not is as absent as a random id. */
export async function getVisibleConnection(
  sql: Sql,
  principal: Principal,
  id: string,
): Promise<StoredConnection> {
  const connection = await findConnection(sql, { orgId: principal.orgId, id });
  if (connection && maySeeCredential(principal, connection)) return connection;
  throw noConnection();
}

/** For its owner alone, or an admin for the org's. */
export async function getWritableConnection(
  sql: Sql,
  principal: Principal,
  id: string,
): Promise<StoredConnection> {
  const connection = await getVisibleConnection(sql, principal, id);
  if (mayWriteCredential(principal, connection)) return connection;
  throw notYours(connection);
}

export function noConnection(): AppError {
  return new AppError('not_found', 'There is no such connection.');
}

export function notYours({ tier }: Pick<StoredConnection, 'tier'>): AppError {
  return new AppError(
    'forbidden',
    tier === 'org'
      ? 'This is a connection of the whole org: an admin has to do this.'
      : 'Only the owner of a connection does this.',
  );
}
