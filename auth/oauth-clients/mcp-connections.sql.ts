import type { Sql } from '#database';
import type { Binding } from './domain/oauth-connection.ts';

interface BindingKey {
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

/**
 * Lists the bindings of an agent in order of client ids, after `afterId`. Clients that the org has
 * revoked are left out.
 */
export async function listBindings(
  sql: Sql,
  page: Omit<BindingKey, 'clientId'> & { afterId: string | null; limit: number },
): Promise<Binding[]> {
  const afterCondition = page.afterId === null ? sql`` : sql`and b.client_id > ${page.afterId}`;
  const rows = await sql<BindingRow[]>`
    select ${bindingColumns(sql)}
      from auth.oauth_binding b
      join auth.oauth_client c on c.id = b.client_id
     where b.org_id = ${page.orgId}
       and b.user_id = ${page.userId}
       and b.agent_id = ${page.agentId}
       and ${notRevokedCondition(sql)} ${afterCondition}
     order by b.client_id
     limit ${page.limit}
  `;
  return rows.map(toBinding);
}

export async function findBinding(sql: Sql, binding: BindingKey): Promise<Binding | undefined> {
  const [row] = await sql<BindingRow[]>`
    select ${bindingColumns(sql)}
      from auth.oauth_binding b
      join auth.oauth_client c on c.id = b.client_id
     where b.org_id = ${binding.orgId}
       and b.user_id = ${binding.userId}
       and b.client_id = ${binding.clientId}
       and b.agent_id = ${binding.agentId}
       and ${notRevokedCondition(sql)}
  `;
  return row && toBinding(row);
}

/**
 * Sets the self-approval switch. False when the switch already has that value, or when the binding
 * no longer exists.
 */
export async function switchSelfApproval(
  sql: Sql,
  binding: BindingKey & { enabled: boolean },
): Promise<boolean> {
  const rows = await sql`
    update auth.oauth_binding b
       set self_approve_enabled = ${binding.enabled}
     where b.org_id = ${binding.orgId}
       and b.user_id = ${binding.userId}
       and b.client_id = ${binding.clientId}
       and b.agent_id = ${binding.agentId}
       and b.self_approve_enabled <> ${binding.enabled}
       and ${notRevokedCondition(sql)}
    returning b.client_id
  `;
  return rows.length === 1;
}

/** Deletes a binding; false when there is no such binding. */
export async function deleteBinding(sql: Sql, binding: BindingKey): Promise<boolean> {
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

const bindingColumns = (sql: Sql) => sql`
  b.org_id, b.user_id, b.client_id, c.name as client_name, b.agent_id, b.self_approve_enabled,
  b.created_at, b.last_used_at
`;

const notRevokedCondition = (sql: Sql) => sql`
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
