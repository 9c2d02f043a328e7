import type { AccountValue } from '#contracts/account-value';
import type { Sql } from '#database';

/** A sealed grant that is stored while the person picks the value for the connection. */
export interface WaitingGrant {
  readonly flowId: string;
  readonly choices: readonly AccountValue[];
  readonly sealed: Buffer;
}

interface WaitingRow {
  id: string;
  choices: AccountValue[];
  sealed_grant: Buffer;
}

/** Stores the grant of a flow for ten minutes. */
export async function insertWaitingGrant(
  sql: Sql,
  { orgId, flowId, choices, sealed }: WaitingGrant & { orgId: string },
): Promise<void> {
  await sql`
    update executor.connection_flow
       set choices = ${sql.json([...choices])}, sealed_grant = ${sealed},
           choose_until = now() + interval '10 minutes'
     where org_id = ${orgId}
       and id = ${flowId}
  `;
}

/**
 * Finds the grant only for the browser session that began the flow, and only at the callback of the
 * flow's provider.
 */
export async function findWaitingGrant(
  sql: Sql,
  flowKey: { orgId: string; stateHash: Buffer; sessionId: string; provider: string },
): Promise<WaitingGrant | undefined> {
  const [row] = await sql<WaitingRow[]>`
    select id, choices, sealed_grant
      from executor.connection_flow
     where org_id = ${flowKey.orgId}
       and state_hash = ${flowKey.stateHash}
       and session_id = ${flowKey.sessionId}
       and provider = ${flowKey.provider}
       and choose_until > now()
  `;
  return row && { flowId: row.id, choices: row.choices, sealed: row.sealed_grant };
}

/**
 * Erases the grant. False when another request has taken the grant, or when the ten minutes are
 * over.
 */
export async function takeWaitingGrant(
  sql: Sql,
  { orgId, flowId }: { orgId: string; flowId: string },
): Promise<boolean> {
  const rows = await sql`
    update executor.connection_flow
       set choices = null, sealed_grant = null, choose_until = null
     where org_id = ${orgId}
       and id = ${flowId}
       and choose_until > now()
    returning id
  `;
  return rows.length === 1;
}

/** Erases grants, across orgs, for which the person picked no value in time. */
export async function eraseWaitingGrants(sql: Sql, { limit }: { limit: number }): Promise<void> {
  await sql`
    update executor.connection_flow
       set choices = null, sealed_grant = null, choose_until = null
     where id in (select id
                    from executor.connection_flow
                   where choose_until < now()
                   limit ${limit})
       and choose_until < now()
  `;
}
