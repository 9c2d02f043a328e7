import type { Sql } from '#database';

export interface WrappedDataKey {
  readonly masterKey: string;
  readonly wrapped: Buffer;
}

interface DataKeyRow {
  master_key: string;
  wrapped: Buffer;
}

export async function findDataKey(
  sql: Sql,
  { orgId }: { orgId: string },
): Promise<WrappedDataKey | undefined> {
  const [row] = await sql<DataKeyRow[]>`
    select master_key, wrapped
      from executor.data_key
     where org_id = ${orgId}
  `;
  return row && { masterKey: row.master_key, wrapped: row.wrapped };
}

/**
 * Stores the data key of an org, unless the org has one already, or a rotation has chosen another
 * master key in the meantime. The lock makes a rotation that begins now wait until it can see this
 * row.
 */
export async function insertDataKey(
  sql: Sql,
  { orgId, masterKey, wrapped }: WrappedDataKey & { orgId: string },
): Promise<void> {
  await sql`
    insert into executor.data_key (org_id, master_key, wrapped)
    select ${orgId}, key_check.master_key, ${wrapped}
      from executor.key_check
     where key_check.master_key = ${masterKey}
       for share
        on conflict (org_id) do nothing
  `;
}

/**
 * Lists, across orgs, the master keys that stored data keys are wrapped with. An executor serves
 * all orgs, so it needs all of these master keys.
 */
export async function listMasterKeysInUse(sql: Sql): Promise<string[]> {
  const rows = await sql<{ master_key: string }[]>`
    select distinct master_key
      from executor.data_key
     limit 1000
  `;
  return rows.map((row) => row.master_key);
}

/** Lists, across orgs, the data keys that are not wrapped with this master key. */
export async function listDataKeysNotUnder(
  sql: Sql,
  { masterKey, limit }: { masterKey: string; limit: number },
): Promise<(WrappedDataKey & { orgId: string })[]> {
  const rows = await sql<(DataKeyRow & { org_id: string })[]>`
    select org_id, master_key, wrapped
      from executor.data_key
     where master_key <> ${masterKey}
     order by org_id
     limit ${limit}
  `;
  return rows.map((row) => ({
    orgId: row.org_id,
    masterKey: row.master_key,
    wrapped: row.wrapped,
  }));
}

/**
 * Stores a data key after it was wrapped with another master key, unless another process has done
 * so since the data key was read.
 */
export async function rewrapDataKey(
  sql: Sql,
  { orgId, from, to }: { orgId: string; from: WrappedDataKey; to: WrappedDataKey },
): Promise<void> {
  await sql`
    update executor.data_key
       set master_key = ${to.masterKey}, wrapped = ${to.wrapped}
     where org_id = ${orgId}
       and master_key = ${from.masterKey}
       and wrapped = ${from.wrapped}
  `;
}
