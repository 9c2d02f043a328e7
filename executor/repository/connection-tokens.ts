import type { Connection } from '#contracts/http/connections';
import type { Tier } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { connectionColumns, toConnection } from './connection.ts';
import type { ConnectionRow, StoredConnection } from './connection.ts';

/** A connection as its token is used: what is sealed, and where it stands at this moment by the database's clock. */
export interface StoredTokens {
  readonly id: string;
  readonly orgId: string;
  readonly name: string;
  readonly provider: string;
  readonly tier: Tier;
  readonly ownerId: string | null;
  readonly status: Connection['status'];
  readonly grantedScopes: string[];
  readonly allowedHosts: string[];
  readonly version: number;
  readonly sealed: Buffer | null;
  readonly tokenUrl: string | null;
  /** Time to ask for the next one. */
  readonly isDue: boolean;
  readonly isExpired: boolean;
  /** Refreshed half a minute ago at most. */
  readonly isFresh: boolean;
  /** Somebody is asking the provider. */
  readonly isLeased: boolean;
}

interface TokensRow {
  id: string;
  name: string;
  provider: string;
  tier: Tier;
  owner_id: string | null;
  status: Connection['status'];
  granted_scopes: string[];
  allowed_hosts: string[];
  token_version: number;
  sealed_tokens: Buffer | null;
  token_url: string | null;
  is_due: boolean;
  is_expired: boolean;
  is_fresh: boolean;
  is_leased: boolean;
}

interface At {
  readonly orgId: string;
  readonly id: string;
}

/** One set of tokens of a connection. */
interface Version extends At {
  readonly version: number;
}

export interface Lifetime {
  /** Null: the provider names no end. */
  readonly expiresInSeconds: number | null;
  /** How long before the end the next one is asked for. */
  readonly marginSeconds: number;
}

export async function findTokens(sql: Sql, { orgId, id }: At): Promise<StoredTokens | undefined> {
  const [row] = await sql<TokensRow[]>`
    select id, name, provider, tier, owner_id, status, granted_scopes, allowed_hosts,
           token_version, sealed_tokens, token_url,
           coalesce(refresh_at <= now(), false) as is_due,
           coalesce(expires_at <= now(), false) as is_expired,
           coalesce(last_refreshed_at > now() - interval '30 seconds', false) as is_fresh,
           coalesce(refresh_lease_until > now(), false) as is_leased
      from executor.connection
     where org_id = ${orgId}
       and id = ${id}
  `;
  return (
    row && {
      id: row.id,
      orgId,
      name: row.name,
      provider: row.provider,
      tier: row.tier,
      ownerId: row.owner_id,
      status: row.status,
      grantedScopes: row.granted_scopes,
      allowedHosts: row.allowed_hosts,
      version: row.token_version,
      sealed: row.sealed_tokens,
      tokenUrl: row.token_url,
      isDue: row.is_due,
      isExpired: row.is_expired,
      isFresh: row.is_fresh,
      isLeased: row.is_leased,
    }
  );
}

/**
 * Committed before the provider is asked, by one of all who want to: undefined for the others. A
 * lease that ran out was left by one that died before it could store what it was answered.
 */
export async function takeRefreshLease(
  sql: Sql,
  { orgId, id, version, lease, seconds }: Version & { lease: string; seconds: number },
): Promise<{ wasInterrupted: boolean } | undefined> {
  const [row] = await sql<{ was_interrupted: boolean }[]>`
    with free as (
      select id, refresh_lease is not null as was_interrupted
        from executor.connection
       where org_id = ${orgId}
         and id = ${id}
         and token_version = ${version}
         and status = 'active'
         and (refresh_lease_until is null or refresh_lease_until <= now())
         for update
    )
    update executor.connection as stored
       set refresh_lease = ${lease}, refresh_lease_until = now() + make_interval(secs => ${seconds})
      from free
     where stored.org_id = ${orgId}
       and stored.id = free.id
    returning free.was_interrupted
  `;
  return row && { wasInterrupted: row.was_interrupted };
}

/** The provider gave no answer that settles anything: the next try not at once. What has no end does not get one. */
export async function releaseRefreshLease(
  sql: Sql,
  { orgId, id, lease, retrySeconds }: At & { lease: string; retrySeconds: number },
): Promise<void> {
  await sql`
    update executor.connection
       set refresh_lease = null, refresh_lease_until = null,
           refresh_at = case when refresh_at is not null
                             then now() + make_interval(secs => ${retrySeconds})
                        end
     where org_id = ${orgId}
       and id = ${id}
       and refresh_lease = ${lease}
  `;
}

/**
 * Stores refreshed tokens as the version after `version`. Not bound to the lease: whoever was too
 * slow and still got tokens has the only ones there are, even if the connection was given up since.
 */
export async function storeRefreshedTokens(
  sql: Sql,
  {
    orgId,
    id,
    version,
    sealed,
    scopes,
    expiresInSeconds,
    marginSeconds,
  }: Version & Lifetime & { sealed: Buffer; scopes: string[] },
): Promise<StoredConnection | undefined> {
  const [row] = await sql<ConnectionRow[]>`
    update executor.connection
       set status = 'active', sealed_tokens = ${sealed}, token_version = token_version + 1,
           granted_scopes = ${scopes},
           expires_at = now() + make_interval(secs => ${expiresInSeconds}),
           refresh_at = now() + make_interval(secs => ${expiresInSeconds}::double precision - ${marginSeconds}),
           last_refreshed_at = now(),
           refresh_lease = null, refresh_lease_until = null, updated_at = now()
     where org_id = ${orgId}
       and id = ${id}
       and token_version = ${version}
       and status in ('active', 'needs_reauth')
    returning ${sql(connectionColumns)}
  `;
  return row && toConnection(row);
}

/** The provider refused for good: the tokens are erased, and only the owner can give new ones. */
export async function giveUpTokens(
  sql: Sql,
  { orgId, id, version }: Version,
): Promise<StoredConnection | undefined> {
  const [row] = await sql<ConnectionRow[]>`
    update executor.connection
       set status = 'needs_reauth', sealed_tokens = null, refresh_at = null,
           refresh_lease = null, refresh_lease_until = null, updated_at = now()
     where org_id = ${orgId}
       and id = ${id}
       and token_version = ${version}
       and status = 'active'
    returning ${sql(connectionColumns)}
  `;
  return row && toConnection(row);
}

/** Held until the transaction ends: what is stored next is the version after this one. */
export async function lockTokens(
  sql: Sql,
  { orgId, id }: At,
): Promise<{ version: number; sealed: Buffer | null; tokenUrl: string | null } | undefined> {
  const [row] = await sql<
    { token_version: number; sealed_tokens: Buffer | null; token_url: string | null }[]
  >`
    select token_version, sealed_tokens, token_url
      from executor.connection
     where org_id = ${orgId}
       and id = ${id}
       and status <> 'revoked'
       for update
  `;
  return row && { version: row.token_version, sealed: row.sealed_tokens, tokenUrl: row.token_url };
}

/** What the owner has just given: the first tokens, or others in their place. Ends any refresh of the earlier ones. */
export async function storeGrantedTokens(
  sql: Sql,
  {
    orgId,
    id,
    sealed,
    tokenUrl,
    scopes,
    hosts,
    account,
    expiresInSeconds,
    marginSeconds,
  }: At &
    Lifetime & {
      sealed: Buffer;
      tokenUrl: string;
      scopes: string[];
      /** Added to those it has. */
      hosts: string[];
      /** Null when the provider does not tell; what is known stays. */
      account: { id: string; label: string } | null;
    },
): Promise<StoredConnection> {
  const [row] = await sql<ConnectionRow[]>`
    update executor.connection
       set status = 'active', sealed_tokens = ${sealed}, token_version = token_version + 1,
           token_url = ${tokenUrl}, granted_scopes = ${scopes},
           allowed_hosts = (select coalesce(array_agg(distinct host), '{}')
                              from unnest(allowed_hosts || ${hosts}::text[]) as host),
           account_id = coalesce(${account?.id ?? null}, account_id),
           account_label = coalesce(${account?.label ?? null}, account_label),
           expires_at = now() + make_interval(secs => ${expiresInSeconds}),
           refresh_at = now() + make_interval(secs => ${expiresInSeconds}::double precision - ${marginSeconds}),
           refresh_lease = null, refresh_lease_until = null, updated_at = now()
     where org_id = ${orgId}
       and id = ${id}
    returning ${sql(connectionColumns)}
  `;
  if (!row) throw new Error('a locked connection vanished');
  return toConnection(row);
}
