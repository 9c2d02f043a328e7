import type { Sql } from '#database';

/** False where there is no such binding, or the client is bound to another agent by now. */
export async function isSelfApproving(
  sql: Sql,
  binding: { orgId: string; userId: string; clientId: string; agentId: string },
): Promise<boolean> {
  const rows = await sql`
    select
      from auth.oauth_binding
     where org_id = ${binding.orgId}
       and user_id = ${binding.userId}
       and client_id = ${binding.clientId}
       and agent_id = ${binding.agentId}
       and self_approve_enabled
  `;
  return rows.length === 1;
}
