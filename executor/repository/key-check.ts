import type { Sql } from '#database';

export interface KeyCheck {
  readonly masterKey: string;
  readonly sealed: Buffer;
}

/** Stores the check of the first start, and returns the one that stands: another replica may have been first. */
export async function rememberKeyCheck(
  sql: Sql,
  { masterKey, sealed }: KeyCheck,
): Promise<KeyCheck> {
  await sql`
    insert into executor.key_check (master_key, sealed)
    values (${masterKey}, ${sealed})
        on conflict (id) do nothing
  `;
  const [row] = await sql<{ master_key: string; sealed: Buffer }[]>`
    select master_key, sealed
      from executor.key_check
  `;
  if (!row) throw new Error('key_check has no row');
  return { masterKey: row.master_key, sealed: row.sealed };
}

/** The master key that new data keys are put under: the one of the last rotation, or of the first start. */
export async function getActiveMasterKey(sql: Sql): Promise<string> {
  const [row] = await sql<{ master_key: string }[]>`
    select master_key
      from executor.key_check
  `;
  if (!row) throw new Error('key_check has no row');
  return row.master_key;
}

/** Begins a rotation: from here on no data key is put under an older master key. */
export async function replaceKeyCheck(sql: Sql, { masterKey, sealed }: KeyCheck): Promise<void> {
  await sql`
    update executor.key_check
       set master_key = ${masterKey}, sealed = ${sealed}
     where id = 1
  `;
}
