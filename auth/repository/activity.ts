import type { Sql } from '#database';

export interface Used {
  readonly orgId: string;
  readonly id: string;
}

/**
 * Notes when identities and credentials were last used. A row that somebody else is changing
 * is left for the next time: the figure is good to some seconds and must never wait.
 */
export async function touchIdentities(sql: Sql, used: readonly Used[]): Promise<void> {
  await sql`
    update auth.identity
       set last_active_at = now()
     where (org_id, id) in (select org_id, id
                              from auth.identity
                             where (org_id, id) in (${pairs(sql, used)})
                               for no key update skip locked)
  `;
}

export async function touchAgentKeys(sql: Sql, used: readonly Used[]): Promise<void> {
  await sql`
    update auth.agent_key
       set last_used_at = now()
     where (org_id, id) in (select org_id, id
                              from auth.agent_key
                             where (org_id, id) in (${pairs(sql, used)})
                               for no key update skip locked)
  `;
}

export async function touchSessions(sql: Sql, used: readonly Used[]): Promise<void> {
  await sql`
    update auth.session
       set last_used_at = now()
     where (org_id, id) in (select org_id, id
                              from auth.session
                             where (org_id, id) in (${pairs(sql, used)})
                               for no key update skip locked)
  `;
}

const pairs = (sql: Sql, used: readonly Used[]) => sql`
  select *
    from unnest(${used.map(({ orgId }) => orgId)}::uuid[], ${used.map(({ id }) => id)}::uuid[])
`;
