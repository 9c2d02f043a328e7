import type { Sql } from '#database';

interface NewFlow {
  readonly stateHash: Buffer;
  readonly browserHash: Buffer;
  readonly orgId: string;
  readonly providerKey: string;
  readonly returnTo: string | null;
}

/** A flow lives ten minutes (docs/reference/identities.md#lifetimes). */
export async function insertFlow(sql: Sql, flow: NewFlow): Promise<void> {
  const { stateHash, browserHash, orgId, providerKey, returnTo } = flow;
  await sql`
    insert into auth.sign_in_flow (state_hash, browser_hash, org_id, provider_key, return_to,
                                   expires_at)
    values (${stateHash}, ${browserHash}, ${orgId}, ${providerKey}, ${returnTo},
            now() + interval '10 minutes')
  `;
}

/**
 * Uses a flow up: only by the browser that began it, and at the callback of the provider it was
 * begun with; to all others it stays as it is. No org: the flow tells it.
 */
export async function consumeFlow(
  sql: Sql,
  {
    stateHash,
    browserHash,
    providerKey,
  }: Pick<NewFlow, 'stateHash' | 'browserHash' | 'providerKey'>,
): Promise<{ orgId: string; returnTo: string | null } | undefined> {
  const [row] = await sql<{ org_id: string; return_to: string | null }[]>`
    delete from auth.sign_in_flow
     where state_hash = ${stateHash}
       and browser_hash = ${browserHash}
       and provider_key = ${providerKey}
       and expires_at > now()
    returning org_id, return_to
  `;
  return row && { orgId: row.org_id, returnTo: row.return_to };
}

/** Across orgs: it is housekeeping. */
export async function pruneFlows(sql: Sql): Promise<void> {
  await sql`
    delete from auth.sign_in_flow
     where state_hash in (select state_hash
                            from auth.sign_in_flow
                           where expires_at < now()
                           limit 10000)
  `;
}
