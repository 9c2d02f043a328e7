import type { Connection } from '#contracts/http/connections';
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
  readonly grantedScopes: string[];
  readonly allowedHosts: string[];
  readonly expiresAt: Date | null;
  readonly lastRefreshedAt: Date | null;
  readonly createdAt: Date;
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
  granted_scopes: string[];
  allowed_hosts: string[];
  expires_at: Date | null;
  last_refreshed_at: Date | null;
  created_at: Date;
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
  'granted_scopes',
  'allowed_hosts',
  'expires_at',
  'last_refreshed_at',
  'created_at',
];

/** A connection nobody has completed yet; undefined when another one has the name. */
export async function insertConnection(
  sql: Sql,
  connection: Pick<
    StoredConnection,
    'id' | 'orgId' | 'name' | 'provider' | 'template' | 'ownerId'
  > & { createdBy: string },
): Promise<StoredConnection | undefined> {
  const { id, orgId, name, provider, template, ownerId, createdBy } = connection;
  const tier: Tier = ownerId === null ? 'org' : 'user';
  const [row] = await sql<ConnectionRow[]>`
    insert into executor.connection
           (id, org_id, name, provider, template, tier, owner_id, created_by)
    values (${id}, ${orgId}, ${name}, ${provider}, ${template}, ${tier}, ${ownerId}, ${createdBy})
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

/** The user's own and the org's connections of these names; revoked ones have given theirs up. */
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

/** Newest first, without the revoked: what a user can use, or with `userId` null everything in the org. */
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

/** Erases the tokens and gives up the name; undefined when that has been done. */
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

/** How many a user has asked for, itself or by its agents, and not completed. */
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

/** Across orgs: what was asked for and never completed. */
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
    grantedScopes: row.granted_scopes,
    allowedHosts: row.allowed_hosts,
    expiresAt: row.expires_at,
    lastRefreshedAt: row.last_refreshed_at,
    createdAt: row.created_at,
  };
}
