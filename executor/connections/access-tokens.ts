import type { Deadline } from '#bus';
import type { Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { createLookupCache } from '#cache';
import { referenceOf } from '../domain/credential-rules.ts';
import { findTokens } from '../repository/connection-tokens.ts';
import type { StoredTokens } from '../repository/connection-tokens.ts';
import type { RefreshDeps, Refresher } from './refresh.ts';
import { readTokens } from './tokens.ts';
import type { Tokens } from './tokens.ts';

/** The access token of a connection as the sender needs it; decrypted by each `reveal`, and kept nowhere. */
export interface UsableToken {
  readonly tier: Tier;
  readonly ownerId: string | null;
  readonly allowedHosts: readonly string[];
  readonly grantedScopes: readonly string[];
  /** Names this token among all the connection has had. */
  readonly version: number;
  reveal(): string;
}

export interface TokenAt {
  readonly orgId: string;
  readonly connectionId: string;
  /** The version of a token that the upstream has just refused: another one is wanted, if it can be had. */
  readonly refused?: number;
}

/**
 * The access token of a connection, refreshed before it ends. Throws `needs_authentication` or
 * `reauth_required` (`auth_url`, `connection_id`), `credential_missing` for a connection that is
 * gone, and `upstream_…` when a token has ended and its provider does not answer.
 */
export type OpenAccessToken = (at: TokenAt, deadline: Deadline) => Promise<UsableToken>;

export interface AccessTokens {
  readonly open: OpenAccessToken;
  /** Drops what is known of a connection that changed, or of all (null). */
  readonly forget: (connectionId: string | null) => void;
}

type Openable = StoredTokens & { readonly read: (() => Tokens) | null };

const cachedMs = 1_000;

export function createAccessTokens(deps: RefreshDeps & { refresher: Refresher }): AccessTokens {
  const { db, vault, refresher } = deps;

  const look = async ({ orgId, connectionId: id }: TokenAt): Promise<Openable | undefined> => {
    const stored = await findTokens(db, { orgId, id });
    if (stored === undefined) return undefined;
    const { sealed } = stored;
    if (sealed === null) return { ...stored, read: null };
    const open = await vault.openerOf(db, orgId);
    return { ...stored, read: () => readTokens(open, { ...stored, sealed }, deps.authUrlOf) };
  };
  const known = createLookupCache({ max: 5_000, ttlMs: cachedMs, lookUp: look });
  const forget = (connectionId: string | null) =>
    known.drop((key) => connectionId === null || key.endsWith(connectionId));

  return {
    forget,
    async open(at, deadline) {
      const kept = await known.get(`${at.orgId} ${at.connectionId}`, at);
      // Its owner may have completed it this moment.
      const found = kept?.status === 'active' ? kept : await look(at);
      const isRefused = found !== undefined && found.version === at.refused && isCurable(found);
      if (found === undefined || (!found.isDue && !isRefused)) return usable(deps, found, at);
      try {
        await within(deadline, refresher.refresh(found));
      } catch (thrown) {
        // A minute before the end a provider in trouble costs nobody a call.
        if (found.isExpired || isRefused) throw thrown;
        deps.logger.warn({ err: thrown, connectionId: found.id }, 'token not refreshed yet');
        return usable(deps, found, at);
      }
      forget(at.connectionId);
      return usable(deps, await look(at), at);
    },
  };
}

/** Some upstreams say 401 to much else: no reason to end a connection, or to refresh it at each call. */
function isCurable({ isFresh, read }: Openable): boolean {
  return !isFresh && read !== null && read().refreshToken !== null;
}

function usable(
  deps: Pick<RefreshDeps, 'authUrlOf'>,
  found: Openable | undefined,
  { connectionId }: TokenAt,
): UsableToken {
  if (found === undefined || found.status === 'revoked') {
    throw new AppError('credential_missing', 'The connection was removed; make a new one.', {
      details: { connection_id: connectionId },
    });
  }
  if (found.status !== 'active' || found.read === null) throw notConnected(deps, found);
  if (found.isExpired) {
    // What does not open is not refreshed either, however often it is tried.
    found.read();
    throw new AppError(
      'upstream_unreachable',
      `The access token of "${referenceOf(found)}" has ended and its provider gave no new one a moment ago; try again shortly.`,
    );
  }
  const { tier, ownerId, allowedHosts, grantedScopes, version, read } = found;
  const reveal = () => read().accessToken;
  return { tier, ownerId, allowedHosts, grantedScopes, version, reveal };
}

/** What only the owner can mend, with the page on which that is done. */
export function notConnected(
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

/** Who waits for somebody else's refresh waits no longer than its own caller does. */
async function within(deadline: Deadline, work: Promise<void>): Promise<void> {
  const { signal } = deadline;
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const end = () =>
    reject(
      new AppError(
        'upstream_timeout',
        'The provider did not answer the request for a new access token in time; try again.',
      ),
    );
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  try {
    await Promise.race([work, ended]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}
