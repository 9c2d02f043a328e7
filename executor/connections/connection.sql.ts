import type { AccountPin } from '#contracts/account-value';
import type { Connection } from '#contracts/http/connections';
import type { TokenActor } from '#contracts/oauth-provider';
import type { Tier } from '#contracts/vocabulary';
import type { Sql } from '#database';

export interface StoredConnection {
  readonly id: string;
  readonly orgId: string;
  readonly name: string;
  readonly provider: string;
  readonly template: string | null;
  readonly tier: Tier;
  readonly ownerId: string | null;
  readonly status: Connection['status'];
  readonly accountId: string | null;
  readonly accountLabel: string | null;
  /** Whose token it is (the user's or a bot's); null when the provider has no such choice. */
  readonly actsAs: TokenActor | null;
  /** The one site, company or tenant of the account to which the token is bound. */
  readonly pin: AccountPin | null;
  readonly grantedScopes: string[];
  /** The granted scopes as the provider spells them; null when the spelling is the same. */
  readonly reportedScopes: string[] | null;
  /** The scopes that were requested for the last grant but not granted. */
  readonly withheldScopes: string[];
  readonly allowedHosts: string[];
  readonly expiresAt: Date | null;
  readonly lastRefreshedAt: Date | null;
  readonly grantedAt: Date | null;
  readonly createdAt: Date;
  /**
   * When a provider refused the tokens of the last grant; null when there was no refusal since the
   * last success.
   */
  readonly refusedAt: Date | null;
  /**
   * Since when all attempts to refresh the tokens have failed; null when the last one succeeded.
   */
  readonly refreshFailingSince: Date | null;
}

export interface ConnectionRow {
  id: string;
  org_id: string;
  name: string;
  provider: string;
  template: string | null;
  tier: Tier;
  owner_id: string | null;
  status: Connection['status'];
  account_id: string | null;
  account_label: string | null;
  acts_as: TokenActor | null;
  account_pin: AccountPin | null;
  granted_scopes: string[];
  reported_scopes: string[] | null;
  withheld_scopes: string[] | null;
  allowed_hosts: string[];
  expires_at: Date | null;
  last_refreshed_at: Date | null;
  granted_at: Date | null;
  created_at: Date;
  refused_at: Date | null;
  refresh_failing_since: Date | null;
}

export const connectionColumns = [
  'id',
  'org_id',
  'name',
  'provider',
  'template',
  'tier',
  'owner_id',
  'status',
  'account_id',
  'account_label',
  'acts_as',
  'account_pin',
  'granted_scopes',
  'reported_scopes',
  'withheld_scopes',
  'allowed_hosts',
  'expires_at',
  'last_refreshed_at',
  'granted_at',
  'created_at',
  'refused_at',
  'refresh_failing_since',
];

/**
 * Inserts a connection that is not completed yet. Undefined when its owner already has a connection
 * with this name.
 */
export async function insertConnection(
  sql: Sql,
  connection: Pick<
    StoredConnection,
    'id' | 'orgId' | 'name' | 'provider' | 'actsAs' | 'template' | 'ownerId'
  > & { createdBy: string },
): Promise<StoredConnection | undefined> {
  const { id, orgId, name, provider, actsAs, template, ownerId, createdBy } = connection;
  const tier: Tier = ownerId === null ? 'org' : 'user';
  const [row] = await sql<ConnectionRow[]>`
    insert into executor.connection
           (id, org_id, name, provider, acts_as, template, tier, owner_id, created_by)
    values (${id}, ${orgId}, ${name}, ${provider}, ${actsAs}, ${template}, ${tier}, ${ownerId},
            ${createdBy})
        on conflict do nothing
    returning ${sql(connectionColumns)}
  `;
  return row && toConnection(row);
}

export async function findConnection(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<StoredConnection | undefined> {
  const [row] = await sql<ConnectionRow[]>`
    select ${sql(connectionColumns)}
      from executor.connection
     where org_id = ${orgId}
       and id = ${id}
  `;
  return row && toConnection(row);
}

/**
 * The connections of the user and of the org with these names. A revoked connection has no name, so
 * it is not among the results.
 */
export async function listConnectionsByName(
  sql: Sql,
  { orgId, userId, names }: { orgId: string; userId: string; names: string[] },
): Promise<StoredConnection[]> {
  const rows = await sql<ConnectionRow[]>`
    select ${sql(connectionColumns)}
      from executor.connection
     where org_id = ${orgId}
       and name in ${sql(names)}
       and (tier = 'org' or owner_id = ${userId})
       and status <> 'revoked'
     limit 100
  `;
  return rows.map(toConnection);
}

/**
 * Lists connections, newest first, without revoked ones: the connections that the user can use, or
 * all of the org when `userId` is null.
 */
export async function listConnections(
  sql: Sql,
  {
    orgId,
    userId,
    limit,
    before,
  }: { orgId: string; userId: string | null; limit: number; before: string | null },
): Promise<StoredConnection[]> {
  const rows = await sql<ConnectionRow[]>`
    select ${sql(connectionColumns)}
      from executor.connection
     where org_id = ${orgId}
       and ${userId === null ? sql`true` : sql`(tier = 'org' or owner_id = ${userId})`}
       and ${before === null ? sql`true` : sql`id < ${before}::uuid`}
       and status <> 'revoked'
     order by id desc
     limit ${limit}
  `;
  return rows.map(toConnection);
}

export async function addConnectionHosts(
  sql: Sql,
  { orgId, id, hosts }: { orgId: string; id: string; hosts: string[] },
): Promise<void> {
  await sql`
    update executor.connection
       set allowed_hosts = (select array_agg(distinct host) from unnest(allowed_hosts || ${hosts}::text[]) as host),
           updated_at = now()
     where org_id = ${orgId}
       and id = ${id}
  `;
}

/**
 * Adds a base URL to which the token may go. The URL is for the value to which the connection is
 * bound.
 */
export async function updateAccountPin(
  sql: Sql,
  { orgId, id, pin }: { orgId: string; id: string; pin: AccountPin },
): Promise<boolean> {
  const rows = await sql`
    update executor.connection
       set account_pin = ${sql.json(pin)}, updated_at = now()
     where org_id = ${orgId}
       and id = ${id}
       and account_pin ->> 'value' = ${pin.value}
    returning id
  `;
  return rows.length === 1;
}

/**
 * Revokes a connection: erases its tokens and frees its name. Undefined when the connection was
 * revoked already.
 */
export async function revokeConnection(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<StoredConnection | undefined> {
  const [row] = await sql<ConnectionRow[]>`
    update executor.connection
       set status = 'revoked', sealed_tokens = null, token_version = token_version + 1,
           expires_at = null, refresh_at = null,
           refresh_lease = null, refresh_lease_until = null, updated_at = now()
     where org_id = ${orgId}
       and id = ${id}
       and status <> 'revoked'
    returning ${sql(connectionColumns)}
  `;
  return row && toConnection(row);
}

/**
 * How many uncompleted connections a user has, including those that the user's agents requested.
 */
export async function countPendingConnections(
  sql: Sql,
  { orgId, createdBy }: { orgId: string; createdBy: string },
): Promise<number> {
  const [row] = await sql<{ pending: number }[]>`
    select count(*)::integer as pending
      from executor.connection
     where org_id = ${orgId}
       and created_by = ${createdBy}
       and status = 'pending'
  `;
  return row?.pending ?? 0;
}

/** Deletes, across orgs, connections that were requested and never completed. */
export async function prunePendingConnections(
  sql: Sql,
  { limit }: { limit: number },
): Promise<void> {
  await sql`
    delete from executor.connection
     where id in (select id
                    from executor.connection
                   where status = 'pending'
                     and updated_at < now() - interval '7 days'
                   limit ${limit})
       and status = 'pending'
  `;
}

export function toConnection(row: ConnectionRow): StoredConnection {
  return {
    id: row.id,
    orgId: row.org_id,
    name: row.name,
    provider: row.provider,
    template: row.template,
    tier: row.tier,
    ownerId: row.owner_id,
    status: row.status,
    accountId: row.account_id,
    accountLabel: row.account_label,
    actsAs: row.acts_as,
    pin: row.account_pin,
    grantedScopes: row.granted_scopes,
    reportedScopes: row.reported_scopes,
    withheldScopes: row.withheld_scopes ?? [],
    allowedHosts: row.allowed_hosts,
    expiresAt: row.expires_at,
    lastRefreshedAt: row.last_refreshed_at,
    grantedAt: row.granted_at,
    createdAt: row.created_at,
    refusedAt: refusedSinceGrant(row),
    refreshFailingSince: failingSinceTokens(row),
  };
}

/**
 * A refresh does not test the tokens, so a refusal stays valid after a refresh and ends only with a
 * new grant. That is why times are compared and not versions of the tokens.
 */
function refusedSinceGrant({ refused_at: refusedAt, granted_at: grantedAt }: ConnectionRow) {
  return refusedAt !== null && grantedAt !== null && refusedAt < grantedAt ? null : refusedAt;
}

/** Failures from before the stored tokens are over. */
function failingSinceTokens(row: ConnectionRow): Date | null {
  const { status, refresh_failing_since: since } = row;
  const storedAt = [row.last_refreshed_at, row.granted_at].filter((each) => each !== null);
  const isOver = since === null || storedAt.some((at) => at >= since);
  return status === 'active' && !isOver ? since : null;
}
