import type { Sql } from '#database';
import type { Binding } from '../domain/oauth-connection.ts';

interface OneBinding {
  readonly orgId: string;
  readonly userId: string;
  readonly clientId: string;
  readonly agentId: string;
}

interface BindingRow {
  org_id: string;
  user_id: string;
  client_id: string;
  client_name: string;
  agent_id: string;
  self_approve_enabled: boolean;
  created_at: Date;
  last_used_at: Date | null;
}

/** Clients that act as an agent of this user, by id after `afterId`; without those shut out of the org. */
export async function listBindings(
  sql: Sql,
  page: Omit<OneBinding, 'clientId'> & { afterId: string | null; limit: number },
): Promise<Binding[]> {
  const after = page.afterId === null ? sql`` : sql`and b.client_id > ${page.afterId}`;
  const rows = await sql<BindingRow[]>`
    select ${columns(sql)}
      from auth.oauth_binding b
      join auth.oauth_client c on c.id = b.client_id
     where b.org_id = ${page.orgId}
       and b.user_id = ${page.userId}
       and b.agent_id = ${page.agentId}
       and ${notShutOut(sql)} ${after}
     order by b.client_id
     limit ${page.limit}
  `;
  return rows.map(toBinding);
}

export async function findBinding(sql: Sql, binding: OneBinding): Promise<Binding | undefined> {
  const [row] = await sql<BindingRow[]>`
    select ${columns(sql)}
      from auth.oauth_binding b
      join auth.oauth_client c on c.id = b.client_id
     where b.org_id = ${binding.orgId}
       and b.user_id = ${binding.userId}
       and b.client_id = ${binding.clientId}
       and b.agent_id = ${binding.agentId}
       and ${notShutOut(sql)}
  `;
  return row && toBinding(row);
}

/** False when the switch stands like that already, or the binding is gone. */
export async function switchSelfApproval(
  sql: Sql,
  binding: OneBinding & { enabled: boolean },
): Promise<boolean> {
  const rows = await sql`
    update auth.oauth_binding b
       set self_approve_enabled = ${binding.enabled}
     where b.org_id = ${binding.orgId}
       and b.user_id = ${binding.userId}
       and b.client_id = ${binding.clientId}
       and b.agent_id = ${binding.agentId}
       and b.self_approve_enabled <> ${binding.enabled}
       and ${notShutOut(sql)}
    returning b.client_id
  `;
  return rows.length === 1;
}

/** False when it was parted before. */
export async function deleteBinding(sql: Sql, binding: OneBinding): Promise<boolean> {
  const rows = await sql`
    delete from auth.oauth_binding
     where org_id = ${binding.orgId}
       and user_id = ${binding.userId}
       and client_id = ${binding.clientId}
       and agent_id = ${binding.agentId}
    returning client_id
  `;
  return rows.length === 1;
}

const columns = (sql: Sql) => sql`
  b.org_id, b.user_id, b.client_id, c.name as client_name, b.agent_id, b.self_approve_enabled,
  b.created_at, b.last_used_at
`;

const notShutOut = (sql: Sql) => sql`
  not exists (select
                from auth.oauth_client_revocation r
               where r.org_id = b.org_id
                 and r.client_id = b.client_id)
`;

function toBinding(row: BindingRow): Binding {
  return {
    orgId: row.org_id,
    userId: row.user_id,
    clientId: row.client_id,
    clientName: row.client_name,
    agentId: row.agent_id,
    selfApproveEnabled: row.self_approve_enabled,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  };
}
