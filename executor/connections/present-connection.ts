import type { Connection } from '#contracts/http/connections';
import type { Principal } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import { coveredScopes, normaliseScopes, scopeRowOf } from '#providers';
import { mayWriteCredential, maySeeCredential } from '../credentials/domain/credential-rules.ts';
import { findConnection } from './connection.sql.ts';
import type { StoredConnection } from './connection.sql.ts';

export function presentConnection(connection: StoredConnection): Connection {
  const row = scopeRowOf(connection.provider);
  const grantedScopes = normaliseScopes(row, connection.grantedScopes);
  return {
    id: connection.id,
    name: connection.name,
    provider: connection.provider,
    template: connection.template,
    tier: connection.tier,
    owner_id: connection.ownerId,
    account_label: connection.accountLabel,
    account_value: connection.pin && {
      value: connection.pin.value,
      label: connection.pin.label,
    },
    acts_as: connection.actsAs,
    granted_scopes: grantedScopes,
    implied_scopes: coveredScopes(row, grantedScopes).filter(
      (scope) => !grantedScopes.includes(scope),
    ),
    reported_scopes: connection.reportedScopes,
    hosts: connection.allowedHosts,
    status: connection.status,
    expires_at: connection.expiresAt?.toISOString() ?? null,
    last_refreshed_at: connection.lastRefreshedAt?.toISOString() ?? null,
    granted_at: connection.grantedAt?.toISOString() ?? null,
    refused_at: connection.refusedAt?.toISOString() ?? null,
    refresh_failing_since: connection.refreshFailingSince?.toISOString() ?? null,
    created_at: connection.createdAt.toISOString(),
  };
}

/**
 * Returns a connection that the caller may see. For a connection that the caller may not see,
 * throws the same `not_found` as for an id that does not exist.
 */
export async function getVisibleConnection(
  sql: Sql,
  principal: Principal,
  id: string,
): Promise<StoredConnection> {
  const connection = await findConnection(sql, { orgId: principal.orgId, id });
  if (connection && maySeeCredential(principal, connection)) return connection;
  throw noSuchConnectionError();
}

/**
 * Returns a connection that the caller may change. The owner may change it, and an admin may change
 * the org's.
 */
export async function getWritableConnection(
  sql: Sql,
  principal: Principal,
  id: string,
): Promise<StoredConnection> {
  const connection = await getVisibleConnection(sql, principal, id);
  if (mayWriteCredential(principal, connection)) return connection;
  throw connectionForbiddenError(connection);
}

export function noSuchConnectionError(): AppError {
  return new AppError('not_found', 'There is no such connection.');
}

export function connectionForbiddenError({ tier }: Pick<StoredConnection, 'tier'>): AppError {
  return new AppError(
    'forbidden',
    tier === 'org'
      ? 'This is a connection of the whole org: an admin has to do this.'
      : 'Only the owner of a connection does this.',
  );
}
