import type { Sql } from '#database';

export type OauthTokenKind = 'code' | 'access' | 'refresh';

export interface StoredToken {
  readonly orgId: string;
  readonly grantId: string;
  readonly payload: Record<string, unknown>;
  /** When the token was consumed; null while it may be used. */
  readonly consumedAt: Date | null;
}

interface TokenRow {
  org_id: string;
  grant_id: string;
  payload: Record<string, unknown>;
  consumed_at: Date | null;
  is_usable: boolean;
}

interface NewToken {
  readonly hash: Buffer;
  readonly id: string;
  readonly kind: OauthTokenKind;
  readonly orgId: string;
  readonly grantId: string;
  readonly generation: number;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly ttlSeconds: number;
}

export async function insertOauthToken(sql: Sql, token: NewToken): Promise<void> {
  await sql`
    insert into auth.oauth_token (hash, id, kind, org_id, grant_id, generation, payload, expires_at)
    values (${token.hash}, ${token.id}, ${token.kind}, ${token.orgId}, ${token.grantId},
            ${token.generation}, ${JSON.stringify(token.payload)}::text::jsonb,
            now() + make_interval(secs => ${token.ttlSeconds}::float8))
  `;
}

/**
 * Finds a token, even a consumed one, because reuse of a consumed token must end its grant. The
 * query needs no org id, because the hash belongs to exactly one token.
 */
export async function findOauthToken(
  sql: Sql,
  { hash, kind, graceSeconds }: { hash: Buffer; kind: OauthTokenKind; graceSeconds: number },
): Promise<StoredToken | undefined> {
  const [row] = await sql<TokenRow[]>`
    select t.org_id, t.grant_id, t.payload, t.consumed_at,
           (t.consumed_at is null or ${withinGraceCondition(sql, graceSeconds)}) as is_usable
      from auth.oauth_token t
      join auth.oauth_grant g on g.org_id = t.org_id and g.id = t.grant_id
     where t.hash = ${hash}
       and t.kind = ${kind}
  `;
  return (
    row && {
      orgId: row.org_id,
      grantId: row.grant_id,
      payload: row.payload,
      consumedAt: row.is_usable ? null : row.consumed_at,
    }
  );
}

/**
 * Consumes a code or refresh token. The update itself checks the state, so exactly one of several
 * parallel requests gets true, except within the grace period
 * (docs/reference/identities.md#oauth-clients).
 */
export async function consumeOauthToken(
  sql: Sql,
  { orgId, hash, graceSeconds }: { orgId: string; hash: Buffer; graceSeconds: number },
): Promise<boolean> {
  const rows = await sql`
    update auth.oauth_token t
       set consumed_at = coalesce(t.consumed_at, clock_timestamp())
     where t.org_id = ${orgId}
       and t.hash = ${hash}
       and (t.consumed_at is null or ${withinGraceCondition(sql, graceSeconds)})
    returning t.id
  `;
  return rows.length === 1;
}

/**
 * Whether a consumed refresh token may be used once more, because its client may have lost the
 * response to the first use. The first use must be recent, and no newer refresh token of the grant
 * may have been consumed. A grace period of 0 allows no second use.
 */
const withinGraceCondition = (sql: Sql, graceSeconds: number) => sql`
  (${graceSeconds} > 0
   and t.kind = 'refresh'
   and t.consumed_at > clock_timestamp() - make_interval(secs => ${graceSeconds}::float8)
   and not exists (select 1
                     from auth.oauth_token later
                    where later.org_id = t.org_id
                      and later.grant_id = t.grant_id
                      and later.kind = 'refresh'
                      and later.generation > t.generation
                      and later.consumed_at is not null))
`;

export async function deleteOauthToken(
  sql: Sql,
  { orgId, hash }: { orgId: string; hash: Buffer },
): Promise<{ id: string; grantId: string } | undefined> {
  const [row] = await sql<{ id: string; grant_id: string }[]>`
    delete from auth.oauth_token
     where org_id = ${orgId}
       and hash = ${hash}
    returning id, grant_id
  `;
  return row && { id: row.id, grantId: row.grant_id };
}

/**
 * Deletes the expired tokens of every org. Consumed tokens stay until they expire, so that reuse is
 * recognised.
 */
export async function pruneOauthTokens(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    delete from auth.oauth_token
     where hash in (select hash
                      from auth.oauth_token
                     where expires_at < now() - interval '1 hour'
                     limit ${limit})
  `;
  return count;
}
