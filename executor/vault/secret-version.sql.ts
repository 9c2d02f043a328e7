import type { Tier } from '#contracts/vocabulary';
import type { Sql } from '#database';

export interface StoredSecretVersion {
  readonly version: number;
  readonly createdAt: Date;
  readonly createdBy: string;
  readonly current: boolean;
}

/** The current version of a secret, with everything needed to decrypt it, from a single query. */
export interface SealedSecret {
  readonly tier: Tier;
  readonly ownerId: string | null;
  readonly allowedHosts: string[];
  readonly version: number;
  /**
   * The version that a provider has refused since the last success; null when it has refused none.
   */
  readonly refusedVersion: number | null;
  readonly sealed: Buffer;
  readonly masterKey: string;
  readonly wrapped: Buffer;
}

export async function insertSecretVersion(
  sql: Sql,
  version: { orgId: string; secretId: string; version: number; sealed: Buffer; createdBy: string },
): Promise<void> {
  await sql`
    insert into executor.secret_version (org_id, secret_id, version, sealed, created_by)
    values (${version.orgId}, ${version.secretId}, ${version.version}, ${version.sealed}, ${version.createdBy})
  `;
}

/** Deletes the versions of a secret up to this number for good. */
export async function eraseOldVersions(
  sql: Sql,
  { orgId, secretId, upTo }: { orgId: string; secretId: string; upTo: number },
): Promise<void> {
  await sql`
    delete from executor.secret_version
     where org_id = ${orgId}
       and secret_id = ${secretId}
       and version <= ${upTo}
  `;
}

export async function findSealedVersion(
  sql: Sql,
  { orgId, secretId, version }: { orgId: string; secretId: string; version: number },
): Promise<Buffer | undefined> {
  const [row] = await sql<{ sealed: Buffer }[]>`
    select sealed
      from executor.secret_version
     where org_id = ${orgId}
       and secret_id = ${secretId}
       and version = ${version}
  `;
  return row?.sealed;
}

export async function findSealedSecret(
  sql: Sql,
  { orgId, secretId }: { orgId: string; secretId: string },
): Promise<SealedSecret | undefined> {
  const [row] = await sql<
    {
      tier: Tier;
      owner_id: string | null;
      allowed_hosts: string[];
      version: number;
      refused_version: number | null;
      sealed: Buffer;
      master_key: string;
      wrapped: Buffer;
    }[]
  >`
    select secret.tier, secret.owner_id, secret.allowed_hosts, secret.refused_version,
           secret_version.version, secret_version.sealed,
           data_key.master_key, data_key.wrapped
      from executor.secret
      join executor.secret_version
        on secret_version.org_id = secret.org_id
       and secret_version.secret_id = secret.id
       and secret_version.version = secret.current_version
      join executor.data_key
        on data_key.org_id = secret.org_id
     where secret.org_id = ${orgId}
       and secret.id = ${secretId}
  `;
  return (
    row && {
      tier: row.tier,
      ownerId: row.owner_id,
      allowedHosts: row.allowed_hosts,
      version: row.version,
      refusedVersion: row.refused_version,
      sealed: row.sealed,
      masterKey: row.master_key,
      wrapped: row.wrapped,
    }
  );
}

export async function listSecretVersions(
  sql: Sql,
  {
    orgId,
    secretId,
    limit,
    before,
  }: { orgId: string; secretId: string; limit: number; before: number | null },
): Promise<StoredSecretVersion[]> {
  const rows = await sql<
    { version: number; created_at: Date; created_by: string; current: boolean }[]
  >`
    select secret_version.version, secret_version.created_at, secret_version.created_by,
           secret_version.version = secret.current_version as current
      from executor.secret_version
      join executor.secret
        on secret.org_id = secret_version.org_id
       and secret.id = secret_version.secret_id
     where secret_version.org_id = ${orgId}
       and secret_version.secret_id = ${secretId}
       and ${before === null ? sql`true` : sql`secret_version.version < ${before}`}
     order by secret_version.version desc
     limit ${limit}
  `;
  return rows.map((row) => ({
    version: row.version,
    createdAt: row.created_at,
    createdBy: row.created_by,
    current: row.current,
  }));
}
