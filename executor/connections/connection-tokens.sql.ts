import type { AccountPin } from '#contracts/account-value';
import type { Connection } from '#contracts/http/connections';
import type { TokenActor } from '#contracts/oauth-provider';
import type { Tier } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { selectOpaqueProviders } from '../providers/oauth-app.sql.ts';
import { connectionColumns, toConnection } from './connection.sql.ts';
import type { ConnectionRow, StoredConnection } from './connection.sql.ts';
import type { RefusedRefreshes } from './domain/refused-refreshes.ts';

/** The sealed tokens of a connection, and their state at this moment by the database's clock. */
export interface StoredTokens {
  readonly id: string;
  readonly orgId: string;
  readonly name: string;
  readonly provider: string;
  readonly tier: Tier;
  readonly ownerId: string | null;
  readonly status: Connection['status'];
  readonly actsAs: TokenActor | null;
  readonly grantedScopes: string[];
  readonly reportedScopes: string[] | null;
  /**
   * True when the org's own definition of the provider says that the provider does not tell the
   * scopes of its tokens.
   */
  readonly hasOpaqueScopes: boolean;
  readonly allowedHosts: string[];
  readonly pin: AccountPin | null;
  readonly version: number;
  /**
   * The version of the tokens that a provider has refused since the last success; null when it has
   * refused none.
   */
  readonly refusedVersion: number | null;
  readonly sealed: Buffer | null;
  readonly tokenUrl: string | null;
  /** True when the tokens should be refreshed now. */
  readonly isDue: boolean;
  readonly isExpired: boolean;
  /** True when the tokens were refreshed within the last 30 seconds. */
  readonly isFresh: boolean;
  /** True while an executor is refreshing the tokens. */
  readonly isLeased: boolean;
  /** When the provider first refused to refresh these tokens; null when it has not. */
  readonly refreshRefusedSince: Date | null;
}

interface TokensRow {
  id: string;
  name: string;
  provider: string;
  tier: Tier;
  owner_id: string | null;
  status: Connection['status'];
  acts_as: TokenActor | null;
  granted_scopes: string[];
  reported_scopes: string[] | null;
  has_opaque_scopes: boolean;
  allowed_hosts: string[];
  account_pin: AccountPin | null;
  token_version: number;
  refused_version: number | null;
  sealed_tokens: Buffer | null;
  token_url: string | null;
  is_due: boolean;
  is_expired: boolean;
  is_fresh: boolean;
  is_leased: boolean;
  refused_since: Date | null;
}

interface At {
  readonly orgId: string;
  readonly id: string;
}

/** One version of a connection's tokens. */
interface TokensVersion extends At {
  readonly version: number;
}

export interface TokensLifetime {
  /** Null when the provider states no lifetime. */
  readonly expiresInSeconds: number | null;
  /** The tokens are refreshed this many seconds before they expire. */
  readonly marginSeconds: number;
}

export interface StoredScopes {
  /** The granted scopes, by the names that requests use for them. */
  readonly scopes: string[];
  /** The granted scopes as the provider spells them; null when the spelling is the same. */
  readonly reportedScopes: string[] | null;
}

export async function findTokens(sql: Sql, { orgId, id }: At): Promise<StoredTokens | undefined> {
  const [row] = await sql<TokensRow[]>`
    select id, name, provider, tier, owner_id, status, acts_as, granted_scopes, reported_scopes,
           provider in (${selectOpaqueProviders(sql, orgId)}) as has_opaque_scopes,
           allowed_hosts, account_pin, token_version, refused_version, sealed_tokens, token_url,
           coalesce(refresh_at <= now(), false) as is_due,
           coalesce(expires_at <= now(), false) as is_expired,
           coalesce(last_refreshed_at > now() - interval '30 seconds', false) as is_fresh,
           coalesce(refresh_lease_until > now(), false) as is_leased,
           case when ${isSinceTokens(sql, 'refresh_refused_since')} then refresh_refused_since end
             as refused_since
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
      actsAs: row.acts_as,
      grantedScopes: row.granted_scopes,
      reportedScopes: row.reported_scopes,
      hasOpaqueScopes: row.has_opaque_scopes,
      allowedHosts: row.allowed_hosts,
      pin: row.account_pin,
      version: row.token_version,
      refusedVersion: row.refused_version,
      sealed: row.sealed_tokens,
      tokenUrl: row.token_url,
      isDue: row.is_due,
      isExpired: row.is_expired,
      isFresh: row.is_fresh,
      isLeased: row.is_leased,
      refreshRefusedSince: row.refused_since,
    }
  );
}

/**
 * Whether the time in this column is later than the stored tokens. Storing new tokens is a success,
 * which ends earlier failures.
 */
function isSinceTokens(sql: Sql, column: string) {
  return sql`coalesce(${sql(column)} > coalesce(greatest(last_refreshed_at, granted_at), '-infinity'), false)`;
}

/**
 * Takes the lease under which one executor refreshes the tokens. It is committed before the
 * provider is asked. Undefined when another executor holds the lease. `wasInterrupted` is true when
 * an earlier holder died before it could store the provider's answer; `refused` says how often the
 * provider has refused these tokens.
 */
export async function takeRefreshLease(
  sql: Sql,
  { orgId, id, version, lease, seconds }: TokensVersion & { lease: string; seconds: number },
): Promise<{ wasInterrupted: boolean; refused: RefusedRefreshes } | undefined> {
  const [row] = await sql<{ was_interrupted: boolean; refused: RefusedRefreshes }[]>`
    with free as (
      select id, refresh_lease is not null as was_interrupted,
             json_build_object(
               'count', case when ${isSinceTokens(sql, 'refresh_refused_since')}
                             then refresh_refusals else 0 end,
               'seconds', coalesce(extract(epoch from now() - refresh_refused_since), 0)) as refused
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
    returning free.was_interrupted, free.refused
  `;
  return row && { wasInterrupted: row.was_interrupted, refused: row.refused };
}

/**
 * Ends the lease without storing tokens, and delays the next attempt. Tokens that never expire get
 * no next attempt. The time since when refreshing fails stays as it is; the outcome `refused` is
 * counted.
 */
export async function releaseRefreshLease(
  sql: Sql,
  {
    orgId,
    id,
    lease,
    ...attempt
  }: At & { lease: string; retrySeconds: number; outcome: 'failed' | 'refused' | 'not_made' },
): Promise<void> {
  const { retrySeconds, outcome } = attempt;
  const isRefused = isSinceTokens(sql, 'refresh_refused_since');
  await sql`
    update executor.connection
       set refresh_lease = null, refresh_lease_until = null,
           refresh_failing_since =
             case when ${outcome === 'not_made'} or ${isSinceTokens(sql, 'refresh_failing_since')}
                  then refresh_failing_since else now() end,
           refresh_refused_since =
             case when ${outcome !== 'refused'} or ${isRefused} then refresh_refused_since else now() end,
           refresh_refusals =
             case when ${outcome !== 'refused'} then refresh_refusals
                  when ${isRefused} then refresh_refusals + 1 else 1 end,
           refresh_at = case when refresh_at is not null
                             then now() + make_interval(secs => ${retrySeconds})
                        end
     where org_id = ${orgId}
       and id = ${id}
       and refresh_lease = ${lease}
  `;
}

/**
 * Stores refreshed tokens as the version after `version`. Succeeds even after the lease has ended:
 * a slow executor may have the only valid tokens, even if another executor has given the connection
 * up.
 */
export async function storeRefreshedTokens(
  sql: Sql,
  {
    orgId,
    id,
    version,
    ...next
  }: TokensVersion & TokensLifetime & StoredScopes & { sealed: Buffer },
): Promise<StoredConnection | undefined> {
  const { sealed, scopes, reportedScopes, expiresInSeconds, marginSeconds } = next;
  const [row] = await sql<ConnectionRow[]>`
    update executor.connection
       set status = 'active', sealed_tokens = ${sealed}, token_version = token_version + 1,
           granted_scopes = ${scopes}, reported_scopes = ${reportedScopes},
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

/**
 * Erases the tokens after the provider has refused the refresh token for good. Only the owner can
 * grant new ones.
 */
export async function giveUpTokens(
  sql: Sql,
  { orgId, id, version }: TokensVersion,
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

/** The state of the stored tokens. It cannot change before the transaction ends. */
export type LockedTokens = Pick<StoredTokens, 'version' | 'sealed' | 'tokenUrl' | 'pin'> & {
  readonly accountId: string | null;
};

type LockedRow = Pick<
  TokensRow,
  'token_version' | 'sealed_tokens' | 'token_url' | 'account_pin'
> & {
  account_id: string | null;
};

/**
 * Locks the tokens until the transaction ends, so that no concurrent writer uses the next version
 * number.
 */
export async function lockTokens(sql: Sql, { orgId, id }: At): Promise<LockedTokens | undefined> {
  const [row] = await sql<LockedRow[]>`
    select token_version, sealed_tokens, token_url, account_id, account_pin
      from executor.connection
     where org_id = ${orgId}
       and id = ${id}
       and status <> 'revoked'
       for update
  `;
  if (row === undefined) return undefined;
  const { token_version: version, sealed_tokens: sealed, token_url: tokenUrl } = row;
  return { version, sealed, tokenUrl, accountId: row.account_id, pin: row.account_pin };
}

/**
 * Stores the tokens that the owner has just granted. They replace earlier tokens, and a running
 * refresh of the earlier tokens has no effect any more.
 */
export async function storeGrantedTokens(
  sql: Sql,
  {
    orgId,
    id,
    ...grant
  }: At &
    TokensLifetime &
    StoredScopes & {
      sealed: Buffer;
      tokenUrl: string;
      /** The scopes that were requested but not granted. */
      withheldScopes: string[];
      /** These hosts are added to the hosts of the connection. */
      hosts: string[];
      /**
       * Null when the provider does not name the account. A stored account is kept in that case.
       */
      account: { id: string; label: string } | null;
      /** Null leaves the connection bound as it is. */
      pin: AccountPin | null;
    },
): Promise<StoredConnection> {
  const { sealed, tokenUrl, scopes, reportedScopes, withheldScopes, hosts, account, pin } = grant;
  const { expiresInSeconds, marginSeconds } = grant;
  const [row] = await sql<ConnectionRow[]>`
    update executor.connection
       set status = 'active', sealed_tokens = ${sealed}, token_version = token_version + 1,
           token_url = ${tokenUrl}, granted_scopes = ${scopes},
           reported_scopes = ${reportedScopes}, withheld_scopes = ${withheldScopes},
           allowed_hosts = (select coalesce(array_agg(distinct host), '{}')
                              from unnest(allowed_hosts || ${hosts}::text[]) as host),
           account_id = coalesce(${account?.id ?? null}, account_id),
           account_label = coalesce(${account?.label ?? null}, account_label),
           account_pin = coalesce(${pin === null ? null : sql.json(pin)}, account_pin),
           expires_at = now() + make_interval(secs => ${expiresInSeconds}),
           refresh_at = now() + make_interval(secs => ${expiresInSeconds}::double precision - ${marginSeconds}),
           refresh_lease = null, refresh_lease_until = null, granted_at = now(), updated_at = now()
     where org_id = ${orgId}
       and id = ${id}
    returning ${sql(connectionColumns)}
  `;
  if (!row) throw new Error('a locked connection vanished');
  return toConnection(row);
}
