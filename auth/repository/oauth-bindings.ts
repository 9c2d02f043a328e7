import type { Sql } from '#database';

/** False where there is no such binding, the client is bound to another agent by now, or shut out. */
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
