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

/** By access token: what was used is its grant, and the binding of that user and client. */
export async function touchOauthGrants(sql: Sql, used: readonly Used[]): Promise<void> {
  await sql`
    with touched as (
      update auth.oauth_grant
         set last_used_at = now()
       where (org_id, id) in (select g.org_id, g.id
                                from auth.oauth_grant g
                                join auth.oauth_token t
                                  on t.org_id = g.org_id and t.grant_id = g.id
                               where (t.org_id, t.id) in (${pairs(sql, used)})
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

const pairs = (sql: Sql, used: readonly Used[]) => sql`
  select *
    from unnest(${used.map(({ orgId }) => orgId)}::uuid[], ${used.map(({ id }) => id)}::uuid[])
`;
