import type { Sql } from '#database';

interface NewSignInFlow {
  readonly stateHash: Buffer;
  readonly browserHash: Buffer;
  readonly orgId: string;
  readonly providerKey: string;
  readonly returnTo: string | null;
}

/**
 * Inserts a sign-in flow, which expires after ten minutes (docs/reference/identities.md#lifetimes).
 */
export async function insertSignInFlow(sql: Sql, flow: NewSignInFlow): Promise<void> {
  const { stateHash, browserHash, orgId, providerKey, returnTo } = flow;
  await sql`
    insert into auth.sign_in_flow (state_hash, browser_hash, org_id, provider_key, return_to,
                                   expires_at)
    values (${stateHash}, ${browserHash}, ${orgId}, ${providerKey}, ${returnTo},
            now() + interval '10 minutes')
  `;
}

/**
 * Consumes a sign-in flow. Only the browser that started the flow can do so, and only at the
 * callback of the provider for which it was started. Any other attempt leaves the flow unchanged.
 * The statement needs no org id, because the hash belongs to exactly one flow.
 */
export async function consumeSignInFlow(
  sql: Sql,
  {
    stateHash,
    browserHash,
    providerKey,
  }: Pick<NewSignInFlow, 'stateHash' | 'browserHash' | 'providerKey'>,
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

/** Deletes the expired flows of every org. */
export async function pruneSignInFlows(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    delete from auth.sign_in_flow
     where state_hash in (select state_hash
                            from auth.sign_in_flow
                           where expires_at < now()
                           limit ${limit})
  `;
  return count;
}
