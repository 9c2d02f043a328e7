import type { Sql } from '#database';

export interface UsedRow {
  readonly orgId: string;
  readonly id: string;
}

/**
 * Stores when identities were last used. Rows that another transaction has locked are skipped: a
 * time that is some seconds too old does no harm, but waiting for a lock would.
 */
export async function touchIdentities(sql: Sql, rows: readonly UsedRow[]): Promise<void> {
  await sql`
    update auth.identity
       set last_active_at = now()
     where (org_id, id) in (select org_id, id
                              from auth.identity
                             where (org_id, id) in (${usedIdPairs(sql, rows)})
                               for no key update skip locked)
  `;
}

export async function touchAgentKeys(sql: Sql, rows: readonly UsedRow[]): Promise<void> {
  await sql`
    update auth.agent_key
       set last_used_at = now()
     where (org_id, id) in (select org_id, id
                              from auth.agent_key
                             where (org_id, id) in (${usedIdPairs(sql, rows)})
                               for no key update skip locked)
  `;
}

export async function touchSessions(sql: Sql, rows: readonly UsedRow[]): Promise<void> {
  await sql`
    update auth.session
       set last_used_at = now()
     where (org_id, id) in (select org_id, id
                              from auth.session
                             where (org_id, id) in (${usedIdPairs(sql, rows)})
                               for no key update skip locked)
  `;
}

/**
 * Stores the last use of these access tokens in their OAuth grants, and in the bindings of their
 * OAuth clients to agents.
 */
export async function touchOauthGrants(sql: Sql, rows: readonly UsedRow[]): Promise<void> {
  await sql`
    with touched as (
      update auth.oauth_grant
         set last_used_at = now()
       where (org_id, id) in (select g.org_id, g.id
                                from auth.oauth_grant g
                                join auth.oauth_token t
                                  on t.org_id = g.org_id and t.grant_id = g.id
                               where (t.org_id, t.id) in (${usedIdPairs(sql, rows)})
                                 for no key update of g skip locked)
      returning org_id, user_id, client_id
    )
    update auth.oauth_binding
       set last_used_at = now()
     where (org_id, user_id, client_id) in (select b.org_id, b.user_id, b.client_id
                                              from auth.oauth_binding b
                                              join touched
                                                on touched.org_id = b.org_id
                                               and touched.user_id = b.user_id
                                               and touched.client_id = b.client_id
                                               for no key update of b skip locked)
  `;
}

const usedIdPairs = (sql: Sql, rows: readonly UsedRow[]) => sql`
  select *
    from unnest(${rows.map(({ orgId }) => orgId)}::uuid[], ${rows.map(({ id }) => id)}::uuid[])
`;
