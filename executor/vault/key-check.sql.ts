import type { Sql } from '#database';

export interface KeyCheck {
  readonly masterKey: string;
  readonly sealed: Buffer;
}

/**
 * Stores the key check when the vault starts for the first time. Returns the stored key check,
 * which another replica may have written first.
 */
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

/**
 * The master key that wraps new data keys: the key of the last rotation, or the key of the first
 * start if there was no rotation.
 */
export async function getActiveMasterKey(sql: Sql): Promise<string> {
  const [row] = await sql<{ master_key: string }[]>`
    select master_key
      from executor.key_check
  `;
  if (!row) throw new Error('key_check has no row');
  return row.master_key;
}

/** Begins a rotation: from now on, new data keys are wrapped with this master key. */
export async function replaceKeyCheck(sql: Sql, { masterKey, sealed }: KeyCheck): Promise<void> {
  await sql`
    update executor.key_check
       set master_key = ${masterKey}, sealed = ${sealed}
     where id = 1
  `;
}
