import type { Tier } from '#contracts/vocabulary';
import type { Sql } from '#database';

export interface StoredSecret {
  readonly id: string;
  readonly name: string;
  readonly tier: Tier;
  readonly ownerId: string | null;
  readonly description: string | null;
  readonly currentVersion: number;
  readonly allowedHosts: string[];
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly createdBy: string;
  /**
   * When a provider refused the current version; null when no provider did since the last
   * successful call.
   */
  readonly refusedAt: Date | null;
}

interface SecretRow {
  id: string;
  name: string;
  tier: Tier;
  owner_id: string | null;
  description: string | null;
  current_version: number;
  allowed_hosts: string[];
  created_at: Date;
  updated_at: Date;
  created_by: string;
  refused_at: Date | null;
  refused_version: number | null;
}

const secretColumns = [
  'id',
  'name',
  'tier',
  'owner_id',
  'description',
  'current_version',
  'allowed_hosts',
  'created_at',
  'updated_at',
  'created_by',
  'refused_at',
  'refused_version',
];

export interface NewSecret {
  readonly id: string;
  readonly orgId: string;
  readonly name: string;
  readonly ownerId: string | null;
  readonly description: string | null;
  /** Null keeps the hosts of the existing secret. A new secret then has no hosts. */
  readonly allowedHosts: string[] | null;
  readonly createdBy: string;
}

/**
 * Inserts a secret, or increments the version of the existing secret with this name. The row stays
 * locked until the transaction ends, so concurrent writers get different versions.
 */
export async function upsertSecret(sql: Sql, secret: NewSecret): Promise<StoredSecret> {
  const { id, orgId, name, ownerId, description, allowedHosts, createdBy } = secret;
  const tier: Tier = ownerId === null ? 'org' : 'user';
  const target =
    ownerId === null
      ? sql`(org_id, name) where tier = 'org'`
      : sql`(org_id, owner_id, name) where tier = 'user'`;
  const [row] = await sql<SecretRow[]>`
    insert into executor.secret as stored
           (id, org_id, name, tier, owner_id, description, allowed_hosts, created_by)
    values (${id}, ${orgId}, ${name}, ${tier}, ${ownerId}, ${description}, ${allowedHosts ?? []}, ${createdBy})
        on conflict ${target}
        do update set current_version = stored.current_version + 1,
                      description = coalesce(${description}, stored.description),
                      allowed_hosts = coalesce(${allowedHosts}::text[], stored.allowed_hosts),
                      updated_at = now()
    returning ${sql(secretColumns)}
  `;
  if (!row) throw new Error('upsert of a secret returned no row');
  return toSecret(row);
}

/** Inserts a secret. Undefined when the owner already has a secret with this name. */
export async function insertSecret(
  sql: Sql,
  secret: NewSecret & { allowedHosts: string[] },
): Promise<StoredSecret | undefined> {
  const { id, orgId, name, ownerId, description, allowedHosts, createdBy } = secret;
  const tier: Tier = ownerId === null ? 'org' : 'user';
  const [row] = await sql<SecretRow[]>`
    insert into executor.secret
           (id, org_id, name, tier, owner_id, description, allowed_hosts, created_by)
    values (${id}, ${orgId}, ${name}, ${tier}, ${ownerId}, ${description}, ${allowedHosts}, ${createdBy})
        on conflict do nothing
    returning ${sql(secretColumns)}
  `;
  return row && toSecret(row);
}

/** Which of these users own secrets with these names. */
export async function listOwnersOfNames(
  sql: Sql,
  {
    orgId,
    names,
    ownerIds,
  }: { orgId: string; names: readonly string[]; ownerIds: readonly string[] },
): Promise<{ ownerId: string; name: string }[]> {
  const rows = await sql<{ owner_id: string; name: string }[]>`
    select owner_id, name
      from executor.secret
     where org_id = ${orgId}
       and tier = 'user'
       and owner_id = any(${[...ownerIds]})
       and name = any(${[...names]})
  `;
  return rows.map(({ owner_id: ownerId, name }) => ({ ownerId, name }));
}

/** The secret with this name and exactly this owner: a user, or the org when `ownerId` is null. */
export async function findNamedSecret(
  sql: Sql,
  { orgId, ownerId, name }: { orgId: string; ownerId: string | null; name: string },
): Promise<StoredSecret | undefined> {
  const [row] = await sql<SecretRow[]>`
    select ${sql(secretColumns)}
      from executor.secret
     where org_id = ${orgId}
       and owner_id is not distinct from ${ownerId}
       and name = ${name}
  `;
  return row && toSecret(row);
}

/** Changes the given fields. Undefined when the secret does not exist any more. */
export async function updateSecret(
  sql: Sql,
  {
    orgId,
    id,
    description,
    allowedHosts,
  }: {
    orgId: string;
    id: string;
    description: string | null | undefined;
    allowedHosts: string[] | undefined;
  },
): Promise<StoredSecret | undefined> {
  const [row] = await sql<SecretRow[]>`
    update executor.secret
       set description = case when ${description === undefined} then description else ${description ?? null} end,
           allowed_hosts = coalesce(${allowedHosts ?? null}::text[], allowed_hosts),
           updated_at = now()
     where org_id = ${orgId}
       and id = ${id}
    returning ${sql(secretColumns)}
  `;
  return row && toSecret(row);
}

/** Increments the version of a secret, and keeps the row locked until the transaction ends. */
export async function countUpVersion(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<StoredSecret | undefined> {
  const [row] = await sql<SecretRow[]>`
    update executor.secret
       set current_version = current_version + 1,
           updated_at = now()
     where org_id = ${orgId}
       and id = ${id}
    returning ${sql(secretColumns)}
  `;
  return row && toSecret(row);
}

export async function findSecret(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<StoredSecret | undefined> {
  const [row] = await sql<SecretRow[]>`
    select ${sql(secretColumns)}
      from executor.secret
     where org_id = ${orgId}
       and id = ${id}
  `;
  return row && toSecret(row);
}

/** The secrets of the user and of the org with these names. */
export async function listSecretsByName(
  sql: Sql,
  { orgId, userId, names }: { orgId: string; userId: string; names: string[] },
): Promise<StoredSecret[]> {
  const rows = await sql<SecretRow[]>`
    select ${sql(secretColumns)}
      from executor.secret
     where org_id = ${orgId}
       and name in ${sql(names)}
       and (tier = 'org' or owner_id = ${userId})
     limit 100
  `;
  return rows.map(toSecret);
}

/**
 * Lists secrets, newest first: those that a user can use, or all of the org when `userId` is null.
 */
export async function listSecrets(
  sql: Sql,
  {
    orgId,
    userId,
    limit,
    before,
  }: { orgId: string; userId: string | null; limit: number; before: string | null },
): Promise<StoredSecret[]> {
  const rows = await sql<SecretRow[]>`
    select ${sql(secretColumns)}
      from executor.secret
     where org_id = ${orgId}
       and ${userId === null ? sql`true` : sql`(tier = 'org' or owner_id = ${userId})`}
       and ${before === null ? sql`true` : sql`id < ${before}::uuid`}
     order by id desc
     limit ${limit}
  `;
  return rows.map(toSecret);
}

export async function addSecretHosts(
  sql: Sql,
  { orgId, id, hosts }: { orgId: string; id: string; hosts: string[] },
): Promise<void> {
  await sql`
    update executor.secret
       set allowed_hosts = (select array_agg(distinct host) from unnest(allowed_hosts || ${hosts}::text[]) as host),
           updated_at = now()
     where org_id = ${orgId}
       and id = ${id}
  `;
}

/** Deletes a secret with all its versions. False when it was deleted already. */
export async function deleteSecret(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<boolean> {
  const rows = await sql`
    delete from executor.secret
     where org_id = ${orgId}
       and id = ${id}
    returning id
  `;
  return rows.length === 1;
}

function toSecret(row: SecretRow): StoredSecret {
  return {
    id: row.id,
    name: row.name,
    tier: row.tier,
    ownerId: row.owner_id,
    description: row.description,
    currentVersion: row.current_version,
    allowedHosts: row.allowed_hosts,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    createdBy: row.created_by,
    refusedAt: row.refused_version === row.current_version ? row.refused_at : null,
  };
}
