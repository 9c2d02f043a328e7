import type { Sql } from '#database';

export type OauthTokenKind = 'code' | 'access' | 'refresh';

export interface StoredToken {
  readonly orgId: string;
  readonly grantId: string;
  readonly payload: Record<string, unknown>;
  /** When it was used up; null while it may be used. */
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

/** No org: the token tells it. One that was used up is found too, because using it again means something. */
export async function findOauthToken(
  sql: Sql,
  { hash, kind, graceSeconds }: { hash: Buffer; kind: OauthTokenKind; graceSeconds: number },
): Promise<StoredToken | undefined> {
  const [row] = await sql<TokenRow[]>`
    select t.org_id, t.grant_id, t.payload, t.consumed_at,
           (t.consumed_at is null or ${isExcused(sql, graceSeconds)}) as is_usable
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
 * Consumes a code or refresh token. The update itself checks the state: of any number of parallel
 * uses exactly one gets true, apart from the grace (docs/reference/identities.md#oauth-clients).
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
       and (t.consumed_at is null or ${isExcused(sql, graceSeconds)})
    returning t.id
  `;
  return rows.length === 1;
}

/**
 * The refresh token before the newest one, a moment after it was used: its client may have lost
 * the answer. With a grace of 0 nothing is ever excused.
 */
const isExcused = (sql: Sql, graceSeconds: number) => sql`
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

/** Across orgs: it is housekeeping. Used refresh tokens stay until they would have expired, to be recognised. */
export async function pruneOauthTokens(sql: Sql): Promise<void> {
  await sql`
    delete from auth.oauth_token
     where hash in (select hash
                      from auth.oauth_token
                     where expires_at < now() - interval '1 hour'
                     limit 10000)
  `;
}
