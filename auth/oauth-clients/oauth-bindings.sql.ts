import type { Sql } from '#database';

/**
 * Whether the client may decide its own approvals as this agent. False without a binding, or when
 * the org has revoked the client.
 */
export async function isSelfApproving(
  sql: Sql,
  binding: { orgId: string; userId: string; clientId: string; agentId: string },
): Promise<boolean> {
  const rows = await sql`
    select
      from auth.oauth_binding b
     where b.org_id = ${binding.orgId}
       and b.user_id = ${binding.userId}
       and b.client_id = ${binding.clientId}
       and b.agent_id = ${binding.agentId}
       and b.self_approve_enabled
       and not exists (select
                         from auth.oauth_client_revocation r
                        where r.org_id = b.org_id
                          and r.client_id = b.client_id)
  `;
  return rows.length === 1;
}

export interface OauthBinding {
  readonly agentId: string;
  readonly scopes: readonly string[];
}

interface BindingKey {
  readonly orgId: string;
  readonly userId: string;
  readonly clientId: string;
}

export async function findOauthBinding(
  sql: Sql,
  { orgId, userId, clientId }: BindingKey,
): Promise<OauthBinding | undefined> {
  const [row] = await sql<{ agent_id: string; scopes: string[] }[]>`
    select agent_id, scopes
      from auth.oauth_binding
     where org_id = ${orgId}
       and user_id = ${userId}
       and client_id = ${clientId}
  `;
  return row && { agentId: row.agent_id, scopes: row.scopes };
}

/**
 * Binds a user's client to an agent. If the client was bound to another agent before, self-approval
 * is switched off, because the user allowed it only for the former agent.
 */
export async function bindOauthClient(
  sql: Sql,
  { orgId, userId, clientId, agentId, scopes }: BindingKey & OauthBinding,
): Promise<{ selfApproveEnabled: boolean }> {
  const [row] = await sql<{ self_approve_enabled: boolean }[]>`
    insert into auth.oauth_binding as b (org_id, user_id, client_id, agent_id, scopes, last_used_at)
    values (${orgId}, ${userId}, ${clientId}, ${agentId}, ${[...scopes]}::text[], now())
        on conflict (org_id, user_id, client_id) do update
       set agent_id = excluded.agent_id,
           scopes = excluded.scopes,
           last_used_at = now(),
           self_approve_enabled = b.self_approve_enabled and b.agent_id = excluded.agent_id
    returning self_approve_enabled
  `;
  return { selfApproveEnabled: row?.self_approve_enabled ?? false };
}
