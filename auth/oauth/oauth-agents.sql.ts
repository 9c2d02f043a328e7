import type { Sql } from '#database';

export interface OwnAgent {
  readonly id: string;
  readonly name: string;
  /** Whether the agent is active and unexpired, so that a client may be bound to it. */
  readonly isLive: boolean;
}

const shownAgentsMax = 1_000;

/** Lists a user's unrevoked agents, the most recently used first. */
export async function listOwnAgents(
  sql: Sql,
  { orgId, userId }: { orgId: string; userId: string },
): Promise<OwnAgent[]> {
  return sql<OwnAgent[]>`
    select id, name, status = 'active' and (expires_at is null or expires_at > now()) as "isLive"
      from auth.identity
     where org_id = ${orgId}
       and parent_id = ${userId}
       and kind = 'agent'
       and status <> 'revoked'
     order by last_active_at desc nulls last, created_at desc
     limit ${shownAgentsMax}
  `;
}
