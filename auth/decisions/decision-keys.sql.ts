import type { Database, Sql } from '#database';

export interface DecisionKey {
  readonly id: string;
  readonly publicKey: string;
  readonly usedFrom: Date;
  readonly usedUntil: Date | null;
}

/** Stores that auth signs decisions only with this key from now on. */
export async function useDecisionKey(
  db: Database,
  { id, publicKey }: Pick<DecisionKey, 'id' | 'publicKey'>,
): Promise<void> {
  await db.transaction(async (tx) => {
    await tx`
      update auth.decision_key
         set used_until = now()
       where id <> ${id}
         and used_until is null
    `;
    await tx`
      insert into auth.decision_key (id, public_key)
      values (${id}, ${publicKey})
      on conflict (id) do update set used_until = null
    `;
  });
}

/** Lists the keys with which auth has signed decisions, the newest first. */
export async function listDecisionKeys(sql: Sql): Promise<DecisionKey[]> {
  const rows = await sql<DecisionKey[]>`
    select id, public_key as "publicKey", used_from as "usedFrom", used_until as "usedUntil"
      from auth.decision_key
     order by used_from desc, id
     limit 100
  `;
  return [...rows];
}
