import type { Sql } from '#database';
import type { OrgClient } from './domain/oauth-connection.ts';

interface ClientRow {
  id: string;
  kind: OrgClient['kind'];
  name: string;
  software_id: string | null;
  redirect_uris: string[];
  created_at: Date;
  last_used_at: Date | null;
  revoked_at: Date | null;
  bindings_count: number;
  bindings: OrgClient['bindings'];
}

/**
 * Lists the clients that users of the org authorized or that the org revoked, in order of ids,
 * after `afterId`. The result reveals nothing about other orgs.
 */
export async function listOrgClients(
  sql: Sql,
  { orgId, afterId, limit }: { orgId: string; afterId: string | null; limit: number },
): Promise<OrgClient[]> {
  const afterCondition = afterId === null ? sql`` : sql`and c.id > ${afterId}`;
  const rows = await sql<ClientRow[]>`
    ${selectClients(sql, orgId)} ${afterCondition}
     order by c.id
     limit ${limit}
  `;
  return rows.map(toClient);
}

export async function findOrgClient(
  sql: Sql,
  { orgId, clientId }: { orgId: string; clientId: string },
): Promise<OrgClient | undefined> {
  const [row] = await sql<ClientRow[]>`
    ${selectClients(sql, orgId)}
       and c.id = ${clientId}
  `;
  return row && toClient(row);
}

/** Revokes a client for the org; false when it was revoked before. */
export async function insertClientRevocation(
  sql: Sql,
  { orgId, clientId, revokedBy }: { orgId: string; clientId: string; revokedBy: string },
): Promise<boolean> {
  const rows = await sql`
    insert into auth.oauth_client_revocation (org_id, client_id, revoked_by)
    values (${orgId}, ${clientId}, ${revokedBy})
        on conflict (org_id, client_id) do nothing
    returning client_id
  `;
  return rows.length === 1;
}

/**
 * Switches self-approval off for all users of a client, so that it stays off if the revocation is
 * ever undone.
 */
export async function switchOffSelfApprovals(
  sql: Sql,
  { orgId, clientId }: { orgId: string; clientId: string },
): Promise<void> {
  await sql`
    update auth.oauth_binding
       set self_approve_enabled = false
     where org_id = ${orgId}
       and client_id = ${clientId}
       and self_approve_enabled
  `;
}

const selectClients = (sql: Sql, orgId: string) => sql`
  select c.id, c.kind, c.name, c.software_id, c.redirect_uris, c.created_at, r.revoked_at,
         used.bindings_count, greatest(used.last_used_at, granted.last_used_at) as last_used_at,
         coalesce(used.bindings, '[]'::json) as bindings
    from auth.oauth_client c
    left join auth.oauth_client_revocation r on r.org_id = ${orgId} and r.client_id = c.id
    left join lateral (
           select count(*)::integer as bindings_count, max(b.last_used_at) as last_used_at,
                  (${selectLatestBindings(sql, orgId)}) as bindings
             from auth.oauth_binding b
            where b.org_id = ${orgId}
              and b.client_id = c.id
         ) used on true
    left join lateral (
           select max(g.created_at) as created_at, max(g.last_used_at) as last_used_at
             from auth.oauth_grant g
            where g.org_id = ${orgId}
              and g.client_id = c.id
         ) granted on true
   where (used.bindings_count > 0 or granted.created_at is not null or r.revoked_at is not null)
`;

/**
 * Selects the latest bindings as JSON in the public form, with times in the format of
 * `Date.toISOString`.
 */
const selectLatestBindings = (sql: Sql, orgId: string) => sql`
  select json_agg(json_build_object(
           'user', json_build_object('id', u.id, 'name', u.name),
           'agent', json_build_object('id', a.id, 'name', a.name),
           'self_approve_enabled', l.self_approve_enabled,
           'created_at', to_char(l.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
           'last_used_at', to_char(l.last_used_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
         ) order by l.created_at desc, l.user_id)
    from (select n.user_id, n.agent_id, n.self_approve_enabled, n.created_at, n.last_used_at
            from auth.oauth_binding n
           where n.org_id = ${orgId}
             and n.client_id = c.id
           order by n.created_at desc, n.user_id
           limit 20) l
    join auth.identity u on u.org_id = ${orgId} and u.id = l.user_id
    join auth.identity a on a.org_id = ${orgId} and a.id = l.agent_id
`;

function toClient(row: ClientRow): OrgClient {
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    softwareId: row.software_id,
    redirectUris: row.redirect_uris,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
    bindingsCount: row.bindings_count,
    bindings: row.bindings,
  };
}
