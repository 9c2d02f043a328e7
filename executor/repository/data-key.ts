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

/** Gives an org its data key unless it has one. */
export async function insertDataKey(
  sql: Sql,
  { orgId, masterKey, wrapped }: WrappedDataKey & { orgId: string },
): Promise<void> {
  await sql`
    insert into executor.data_key (org_id, master_key, wrapped)
    values (${orgId}, ${masterKey}, ${wrapped})
        on conflict (org_id) do nothing
  `;
}

/** The master keys that some data key still needs; of every org, because a start serves them all. */
export async function listMasterKeysInUse(sql: Sql): Promise<string[]> {
  const rows = await sql<{ master_key: string }[]>`
    select distinct master_key
      from executor.data_key
     limit 1000
  `;
  return rows.map((row) => row.master_key);
}
