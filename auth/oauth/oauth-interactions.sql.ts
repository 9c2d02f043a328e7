import type { Sql } from '#database';

interface NewInteraction {
  readonly hash: Buffer;
  readonly orgId: string;
  readonly sessionId: string;
  readonly clientId: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly ttlSeconds: number;
}

export async function insertInteraction(sql: Sql, interaction: NewInteraction): Promise<void> {
  const { hash, orgId, sessionId, clientId, payload, ttlSeconds } = interaction;
  await sql`
    insert into auth.oauth_interaction (hash, org_id, session_id, client_id, payload, expires_at)
    values (${hash}, ${orgId}, ${sessionId}, ${clientId}, ${JSON.stringify(payload)}::text::jsonb,
            now() + make_interval(secs => ${ttlSeconds}::float8))
  `;
}

interface InteractionKey {
  readonly orgId: string;
  readonly sessionId: string;
  readonly hash: Buffer;
}

/**
 * Finds an authorization request that was started in this session and waits for the user's consent.
 */
export async function findInteraction(
  sql: Sql,
  { orgId, sessionId, hash }: InteractionKey,
): Promise<Record<string, unknown> | undefined> {
  const [row] = await sql<{ payload: Record<string, unknown> }[]>`
    select payload
      from auth.oauth_interaction
     where org_id = ${orgId}
       and session_id = ${sessionId}
       and hash = ${hash}
       and expires_at > now()
  `;
  return row?.payload;
}

/** Stores the user's decision; false when the request was decided before or has expired. */
export async function decideInteraction(
  sql: Sql,
  { orgId, sessionId, hash, result }: InteractionKey & { result: object },
): Promise<boolean> {
  const rows = await sql`
    update auth.oauth_interaction
       set payload = jsonb_set(payload, '{result}', ${JSON.stringify(result)}::text::jsonb)
     where org_id = ${orgId}
       and session_id = ${sessionId}
       and hash = ${hash}
       and expires_at > now()
       and payload -> 'result' is null
    returning hash
  `;
  return rows.length === 1;
}

/**
 * Deletes an authorization request. False when another request of the browser has already deleted
 * it.
 */
export async function deleteInteraction(
  sql: Sql,
  { orgId, sessionId, hash }: InteractionKey,
): Promise<boolean> {
  const rows = await sql`
    delete from auth.oauth_interaction
     where org_id = ${orgId}
       and session_id = ${sessionId}
       and hash = ${hash}
    returning hash
  `;
  return rows.length === 1;
}

/** Deletes the expired authorizations of every org. */
export async function pruneInteractions(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    delete from auth.oauth_interaction
     where hash in (select hash
                      from auth.oauth_interaction
                     where expires_at < now()
                     limit ${limit})
  `;
  return count;
}
