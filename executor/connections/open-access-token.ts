import type { Deadline } from '#bus';
import type { AccountPin } from '#contracts/account-value';
import type { Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { createLookupCache } from '#cache';
import { referenceOf } from '../credentials/domain/credential-rules.ts';
import { waitWithin } from '../credentials/wait-within.ts';
import { findTokens } from './connection-tokens.sql.ts';
import type { StoredTokens } from './connection-tokens.sql.ts';
import type { RefreshDeps, Refresher } from './refresh-tokens.ts';
import { readTokens } from './sealed-tokens.ts';
import type { Tokens } from './sealed-tokens.ts';

/**
 * The access token of a connection. Each call of `reveal` decrypts the token; the plaintext is not
 * cached.
 */
export interface UsableToken {
  readonly tier: Tier;
  readonly ownerId: string | null;
  readonly allowedHosts: readonly string[];
  readonly provider: string;
  /** The value of the account to which the token is bound; null when the account has only one. */
  readonly pin: AccountPin | null;
  /** Undefined when the provider does not tell the scopes of its tokens. */
  readonly grantedScopes: readonly string[] | undefined;
  /** The version of the connection's tokens that this token belongs to. */
  readonly version: number;
  /**
   * The version of the tokens that a provider has refused since the last success; null when it has
   * refused none.
   */
  readonly refusedVersion: number | null;
  reveal(): string;
}

export interface AccessTokenRequest {
  readonly orgId: string;
  readonly connectionId: string;
  /**
   * The version of a token that the upstream has just refused. The caller wants a newer token, if
   * there is one.
   */
  readonly refused?: number;
}

/**
 * Returns the access token of a connection, refreshed before it expires. Throws
 * `needs_authentication` or `reauth_required` (with `auth_url` and `connection_id`),
 * `credential_missing` for a connection that no longer exists, and `upstream_…` when the token has
 * expired and the provider does not answer.
 */
export type OpenAccessToken = (at: AccessTokenRequest, deadline: Deadline) => Promise<UsableToken>;

export interface AccessTokens {
  readonly open: OpenAccessToken;
  /** Drops the cached state of a connection that changed, or of all connections (null). */
  readonly forget: (connectionId: string | null) => void;
}

type OpenableTokens = StoredTokens & { readonly read: (() => Tokens) | null };

const cachedMs = 1_000;

export function createAccessTokens(deps: RefreshDeps & { refresher: Refresher }): AccessTokens {
  const { db, vault, refresher } = deps;

  const findConnection = async ({
    orgId,
    connectionId: id,
  }: AccessTokenRequest): Promise<OpenableTokens | undefined> => {
    const storedTokens = await findTokens(db, { orgId, id });
    if (storedTokens === undefined) return undefined;
    const { sealed } = storedTokens;
    if (sealed === null) return { ...storedTokens, read: null };
    const open = await vault.openerOf(db, orgId);
    return {
      ...storedTokens,
      read: () => readTokens(open, { ...storedTokens, sealed }, deps.authUrlOf),
    };
  };
  const tokenCache = createLookupCache({ max: 5_000, ttlMs: cachedMs, lookUp: findConnection });
  const dropFromCache = (connectionId: string | null) =>
    tokenCache.drop((key) => connectionId === null || key.endsWith(connectionId));

  return {
    forget: dropFromCache,
    async open(connectionKey, deadline) {
      const cachedTokens = await tokenCache.get(
        `${connectionKey.orgId} ${connectionKey.connectionId}`,
        connectionKey,
      );
      // The cached state may be from before the owner completed the connection, so it is read
      // again.
      const openableTokens =
        cachedTokens?.status === 'active' ? cachedTokens : await findConnection(connectionKey);
      const isRefused =
        openableTokens !== undefined &&
        openableTokens.version === connectionKey.refused &&
        isRefreshUseful(openableTokens);
      if (openableTokens === undefined || (!openableTokens.isDue && !isRefused))
        return requireUsable(deps, openableTokens, connectionKey);
      try {
        await waitWithin(deadline, refresher.refresh(openableTokens));
      } catch (error) {
        // The refresh begins a minute before the token expires. If it fails, calls use the current
        // token until then.
        if (openableTokens.isExpired || isRefused) throw error;
        deps.logger.warn(
          { err: error, connectionId: openableTokens.id },
          'token not refreshed yet',
        );
        return requireUsable(deps, openableTokens, connectionKey);
      }
      dropFromCache(connectionKey.connectionId);
      return requireUsable(deps, await findConnection(connectionKey), connectionKey);
    },
  };
}

/**
 * Whether refreshing the token may help after a 401. Some upstreams answer 401 for other reasons
 * than a bad token, so a token that was refreshed in the last 30 seconds is not refreshed again.
 */
function isRefreshUseful({ isFresh, read }: OpenableTokens): boolean {
  return !isFresh && read !== null && read().refreshToken !== null;
}

function requireUsable(
  deps: Pick<RefreshDeps, 'authUrlOf'>,
  tokens: OpenableTokens | undefined,
  { connectionId }: AccessTokenRequest,
): UsableToken {
  if (tokens === undefined || tokens.status === 'revoked') {
    throw new AppError('credential_missing', 'The connection was removed; make a new one.', {
      details: { connection_id: connectionId },
    });
  }
  if (tokens.status !== 'active' || tokens.read === null) throw notConnectedError(deps, tokens);
  if (tokens.isExpired) {
    // Throws when the tokens cannot be decrypted. The owner then sees this error instead of one
    // about the refresh.
    tokens.read();
    throw endedTokenError(deps, tokens);
  }
  const { tier, ownerId, provider, allowedHosts, pin } = tokens;
  const { version, refusedVersion, read } = tokens;
  return {
    tier,
    ownerId,
    provider,
    allowedHosts,
    pin,
    grantedScopes: tokens.hasOpaqueScopes ? undefined : tokens.grantedScopes,
    version,
    refusedVersion,
    reveal: () => read().accessToken,
  };
}

/**
 * The error while the executor waits before the next attempt to refresh. If the provider refused,
 * the owner can connect again at `auth_url`.
 */
function endedTokenError(
  { authUrlOf }: Pick<RefreshDeps, 'authUrlOf'>,
  tokens: StoredTokens,
): AppError {
  const { id, refreshRefusedSince: since } = tokens;
  const ended = `The access token of "${referenceOf(tokens)}" has ended`;
  return since === null
    ? new AppError(
        'upstream_unreachable',
        `${ended} and its provider gave no new one a moment ago; try again shortly.`,
      )
    : new AppError(
        'upstream_unreachable',
        `${ended}, and its provider has refused a new one since ${since.toISOString()}. Try again later; if it goes on, its owner has to connect again at auth_url.`,
        { details: { auth_url: authUrlOf(id), connection_id: id } },
      );
}

/**
 * The error for a problem that only the connection's owner can solve, with the URL of the page for
 * solving it.
 */
export function notConnectedError(
  { authUrlOf }: Pick<RefreshDeps, 'authUrlOf'>,
  connection: Pick<StoredTokens, 'id' | 'name' | 'tier' | 'status'>,
): AppError {
  const details = { auth_url: authUrlOf(connection.id), connection_id: connection.id };
  const name = referenceOf(connection);
  return connection.status === 'pending'
    ? new AppError(
        'needs_authentication',
        `The connection "${name}" is not complete: its owner has to open auth_url.`,
        { details },
      )
    : new AppError(
        'reauth_required',
        `The connection "${name}" has ended: its owner has to connect again at auth_url.`,
        { details },
      );
}
