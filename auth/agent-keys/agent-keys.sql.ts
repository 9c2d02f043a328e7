import type { Sql } from '#database';
import type { AgentKey } from './domain/agent-key.ts';

interface AgentKeyRow {
  id: string;
  identity_id: string;
  name: string;
  hint: string;
  created_at: Date;
  expires_at: Date | null;
  last_used_at: Date | null;
}

const columns = [
  'id',
  'identity_id',
  'name',
  'hint',
  'created_at',
  'expires_at',
  'last_used_at',
] as const;

interface NewAgentKey {
  readonly id: string;
  readonly orgId: string;
  readonly identityId: string;
  readonly name: string;
  readonly hash: Buffer;
  readonly hint: string;
  readonly createdBy: string;
  readonly expiresAt: Date | null;
}

/** Inserts an agent key; returns undefined when the expiry of the key is not in the future. */
export async function insertAgentKey(
  sql: Sql,
  agentKey: NewAgentKey,
): Promise<AgentKey | undefined> {
  const { id, orgId, identityId, name, hash, hint, createdBy, expiresAt } = agentKey;
  const [row] = await sql<AgentKeyRow[]>`
    insert into auth.agent_key (id, org_id, identity_id, name, hash, hint, created_by, expires_at)
    select ${id}, ${orgId}, ${identityId}, ${name}, ${hash}, ${hint}, ${createdBy},
           ${expiresAt}::timestamptz
     where ${expiresAt}::timestamptz is null
        or ${expiresAt}::timestamptz > now()
    returning ${sql(columns)}
  `;
  return row && toAgentKey(row);
}

export async function countLiveAgentKeys(
  sql: Sql,
  { orgId, identityId }: { orgId: string; identityId: string },
): Promise<number> {
  const [row] = await sql<{ live: number }[]>`
    select count(*)::integer as live
      from auth.agent_key
     where org_id = ${orgId}
       and identity_id = ${identityId}
       and revoked_at is null
       and (expires_at is null or expires_at > now())
  `;
  return row?.live ?? 0;
}

/** Lists the unrevoked keys in order of creation. */
export async function listAgentKeys(
  sql: Sql,
  {
    orgId,
    identityId,
    afterId,
    limit,
  }: { orgId: string; identityId: string; afterId: string | null; limit: number },
): Promise<AgentKey[]> {
  const afterCondition = afterId === null ? sql`` : sql`and id > ${afterId}`;
  const rows = await sql<AgentKeyRow[]>`
    select ${sql(columns)}
      from auth.agent_key
     where org_id = ${orgId}
       and identity_id = ${identityId}
       and revoked_at is null ${afterCondition}
     order by id
     limit ${limit}
  `;
  return rows.map(toAgentKey);
}

/** Revokes a key; undefined when the key does not exist or was revoked before. */
export async function revokeAgentKey(
  sql: Sql,
  { orgId, identityId, id }: { orgId: string; identityId: string; id: string },
): Promise<AgentKey | undefined> {
  const [row] = await sql<AgentKeyRow[]>`
    update auth.agent_key
       set revoked_at = now()
     where org_id = ${orgId}
       and identity_id = ${identityId}
       and id = ${id}
       and revoked_at is null
    returning ${sql(columns)}
  `;
  return row && toAgentKey(row);
}

function toAgentKey(row: AgentKeyRow): AgentKey {
  return {
    id: row.id,
    identityId: row.identity_id,
    name: row.name,
    hint: row.hint,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
  };
}
