import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Database } from '#database';
import type { Egress } from '#egress';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Logger } from '#telemetry';
import { referenceOf } from '../credentials/domain/credential-rules.ts';
import { readGrantedScopes } from '../providers/domain/granted-scopes.ts';
import type { GrantedTokens } from '../providers/domain/token-answer.ts';
import type { StoredConnection } from './connection.sql.ts';
import {
  findTokens,
  giveUpTokens,
  releaseRefreshLease,
  storeRefreshedTokens,
  takeRefreshLease,
} from './connection-tokens.sql.ts';
import type { StoredScopes, StoredTokens } from './connection-tokens.sql.ts';
import { isLastRefusal, retrySecondsAfter } from './domain/refused-refreshes.ts';
import type { RefusedRefreshes } from './domain/refused-refreshes.ts';
import type { Vault } from '../vault/vault.ts';
import { createConnectionEvent } from './connection-event.ts';
import type { Actor } from '../credentials/actor.ts';
import type { ProviderApp, ProviderApps } from '../providers/provider-apps.ts';
import { requestTokens, tokenRequestMs } from '../providers/request-tokens.ts';
import { refreshMarginOf, readTokens, sealTokens } from './sealed-tokens.ts';

export interface RefreshDeps {
  readonly db: Database;
  readonly egress: Egress;
  readonly vault: Vault;
  readonly apps: ProviderApps;
  readonly logger: Logger;
  /** The URL of the page on which the owner of a connection repairs it. */
  readonly authUrlOf: (connectionId: string) => string;
}

export interface Refresher {
  /**
   * Waits until these tokens are replaced or the connection is given up. Concurrent callers share
   * one request to the provider. Throws when the provider gives no usable answer.
   */
  refresh(tokens: StoredTokens, by?: Actor): Promise<void>;
}

/**
 * The maximum number of attempts to store tokens while the database is unreachable, 250 ms apart.
 */
const storeAttemptsMax = 12;
/**
 * The lease is longer than a token request can take, including the database writes before and after
 * the request.
 */
const leaseSeconds = Math.ceil(tokenRequestMs / 1_000) + 10;
const pollIntervalMs = 100;

/**
 * Asks the provider for the next tokens of a connection with one request, however many callers and
 * executors need them.
 *
 * The lease is committed before the provider is asked, and storing the provider's answer ends the
 * lease. A lease that expired means that an answer was lost. The next executor then tries the old
 * refresh token again, and the provider either accepts that token or says that it is dead. No
 * database lock is held while the provider works (ADR 35).
 */
export function createRefresher(deps: RefreshDeps): Refresher {
  const refreshesUnderWay = new Map<string, Promise<void>>();

  const refresh = async (tokens: StoredTokens, by: Actor | undefined): Promise<void> => {
    const { orgId, id, version } = tokens;
    for (;;) {
      const lease = randomUUID();
      const leasedTokens = await takeRefreshLease(deps.db, {
        orgId,
        id,
        version,
        lease,
        seconds: leaseSeconds,
      });
      if (leasedTokens !== undefined)
        return askProvider(deps, tokens, { lease, by, ...leasedTokens });
      const currentTokens = await findTokens(deps.db, { orgId, id });
      // Another executor has replaced the tokens or given up the connection.
      if (
        currentTokens === undefined ||
        currentTokens.version !== version ||
        !currentTokens.isLeased
      )
        return;
      await sleep(pollIntervalMs);
    }
  };

  return {
    refresh(tokens, by) {
      const key = `${tokens.id} ${tokens.version}`;
      const sharedRefresh = refreshesUnderWay.get(key);
      if (sharedRefresh !== undefined) return sharedRefresh;
      const ownRefresh = refresh(tokens, by).finally(() => refreshesUnderWay.delete(key));
      refreshesUnderWay.set(key, ownRefresh);
      return ownRefresh;
    },
  };
}

interface RefreshAttempt {
  readonly lease: string;
  readonly wasInterrupted: boolean;
  readonly refused: RefusedRefreshes;
  readonly by: Actor | undefined;
}

async function askProvider(
  deps: RefreshDeps,
  tokens: StoredTokens,
  attempt: RefreshAttempt,
): Promise<void> {
  const { orgId, id, provider, actsAs } = tokens;
  let isRefused = false;
  try {
    const refreshToken = await openRefreshToken(deps, tokens);
    const app = await deps.apps.find({ orgId, provider, actsAs });
    if (app === undefined || app.provider.token_url !== tokens.tokenUrl) {
      const reason = `the app of ${provider} was removed or speaks to another server now`;
      return await giveUpConnection(deps, tokens, { ...attempt, reason });
    }
    if (refreshToken === null) {
      if (!tokens.isExpired) throw notRefreshableError(deps, tokens);
      const reason = 'its access token has ended, and the provider gave none to refresh it with';
      return await giveUpConnection(deps, tokens, { ...attempt, reason });
    }
    const answer = await requestTokens(deps, app, {
      url: app.provider.refresh_url ?? app.provider.token_url,
      parameters: { grant_type: 'refresh_token', refresh_token: refreshToken },
    });
    if (answer.kind === 'granted') {
      const scopes = scopesOfAnswer(app, tokens, answer.tokens);
      const { by } = attempt;
      const refreshedGrant = { granted: answer.tokens, scopes, refreshToken, by };
      return await retryUntilStored(() => storeTokens(deps, tokens, refreshedGrant));
    }
    const problem = answer.kind === 'refused' ? answer.error : answer.problem;
    isRefused = answer.weight === 'definite';
    if (answer.weight === 'final' || (isRefused && isLastRefusal(attempt.refused))) {
      const lostAnswerNote = attempt.wasInterrupted ? '; an earlier answer had been lost' : '';
      const times = answer.weight === 'final' ? '' : ` ${attempt.refused.count + 1} times`;
      const reason = `the provider refused its refresh token${times} (${problem})${lostAnswerNote}`;
      return await giveUpConnection(deps, tokens, { ...attempt, reason });
    }
    throw isRefused
      ? refusedRefreshError(deps, { app, tokens, problem })
      : unusableAnswerError(app, problem);
  } catch (error) {
    const isMade = AppError.from(error).code !== 'reauth_required';
    await releaseRefreshLease(deps.db, {
      orgId,
      id,
      lease: attempt.lease,
      retrySeconds: retrySecondsAfter(isRefused ? attempt.refused.count : 0),
      outcome: isRefused ? 'refused' : isMade ? 'failed' : 'not_made',
    });
    throw error;
  }
}

/**
 * The scopes of the new token. When the answer lists no scopes, the earlier ones stay (RFC 6749
 * §6).
 */
function scopesOfAnswer(
  { provider }: ProviderApp,
  { grantedScopes, reportedScopes }: StoredTokens,
  { scopes: reported }: GrantedTokens,
): StoredScopes {
  if (reported === null) return { scopes: grantedScopes, reportedScopes };
  const granted = readGrantedScopes(provider, { asked: grantedScopes, reported });
  return { scopes: granted.scopes, reportedScopes: granted.reported };
}

/**
 * Tries for three seconds to store the tokens. Losing them could mean losing the connection: the
 * provider may have revoked the old refresh token already.
 */
async function retryUntilStored(store: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await store();
      return;
    } catch (error) {
      if (AppError.from(error).code !== 'unavailable' || attempt === storeAttemptsMax) throw error;
      await sleep(250);
    }
  }
}

async function openRefreshToken(
  { db, vault, authUrlOf }: RefreshDeps,
  { sealed, ...stored }: StoredTokens,
): Promise<string | null> {
  if (sealed === null) return null;
  const open = await vault.openerOf(db, stored.orgId);
  return readTokens(open, { ...stored, sealed }, authUrlOf).refreshToken;
}

/**
 * Stores the refreshed tokens before any call uses them. Fields that the provider's answer leaves
 * out keep their value (RFC 6749 §6).
 */
async function storeTokens(
  { db, vault, logger }: RefreshDeps,
  tokens: StoredTokens,
  {
    granted,
    scopes,
    refreshToken,
    by,
  }: {
    granted: GrantedTokens;
    scopes: StoredScopes;
    refreshToken: string;
    by: Actor | undefined;
  },
): Promise<void> {
  const { orgId, id, version } = tokens;
  const { accessToken, expiresInSeconds } = granted;
  const storedConnection = await db.transaction(async (tx) => {
    const sealedTokens = await sealTokens(tx, vault, {
      place: { orgId, id, version: version + 1 },
      content: { accessToken, refreshToken: granted.refreshToken ?? refreshToken },
    });
    const connection = await storeRefreshedTokens(tx, {
      orgId,
      id,
      version,
      sealed: sealedTokens,
      expiresInSeconds,
      marginSeconds: refreshMarginOf(expiresInSeconds),
      ...scopes,
    });
    if (connection === undefined) return false;
    await appendEvent(tx, refreshEventOf(connection, by ?? null));
    return true;
  });
  if (!storedConnection)
    logger.warn({ connectionId: id }, 'refreshed tokens came too late to be stored');
}

/**
 * The event of a refresh. A refresh without a request happens every hour, so it is left out of the
 * audit log. The event is still published, because executors drop their caches when it arrives.
 */
function refreshEventOf(connection: StoredConnection, by: Actor | null) {
  const text = `Refreshed connection ${referenceOf(connection)}`;
  const event = createConnectionEvent('connection.refreshed', { connection, text, by });
  return by === null ? { ...event, audit: null } : event;
}

async function giveUpConnection(
  { db, authUrlOf, logger }: RefreshDeps,
  { orgId, id, version }: StoredTokens,
  { reason, by }: { reason: string; by: Actor | undefined },
): Promise<void> {
  await db.transaction(async (tx) => {
    const connection = await giveUpTokens(tx, { orgId, id, version });
    if (connection === undefined) return;
    const text = `Connection ${referenceOf(connection)} has to be connected again: ${reason}`;
    const authUrl = authUrlOf(id);
    await appendEvent(
      tx,
      createConnectionEvent('connection.needs_reauth', {
        connection,
        text,
        by: by ?? null,
        authUrl,
      }),
    );
  });
  logger.warn({ connectionId: id, reason }, 'connection needs its owner');
}

/**
 * The error for a connection that has a valid access token and no refresh token. The connection
 * keeps its access token.
 */
function notRefreshableError({ authUrlOf }: RefreshDeps, tokens: StoredTokens): AppError {
  return new AppError(
    'reauth_required',
    `${tokens.provider} gave no token to refresh "${referenceOf(tokens)}" with; the access token stays in use. For another one its owner has to connect again at auth_url.`,
    { details: { auth_url: authUrlOf(tokens.id), connection_id: tokens.id } },
  );
}

/**
 * The error while the provider refuses to refresh but has not said that the token is invalid for
 * good. The owner can end this state by connecting again.
 */
function refusedRefreshError(
  { authUrlOf }: RefreshDeps,
  { app, tokens, problem }: { app: ProviderApp; tokens: StoredTokens; problem: string },
): AppError {
  return new AppError(
    'upstream_incomplete',
    `${app.provider.title} refuses to refresh "${referenceOf(tokens)}" (${problem}). Try again later; if it goes on, its owner has to connect again at auth_url, or an admin to check the app's set-up.`,
    { details: { auth_url: authUrlOf(tokens.id), connection_id: tokens.id } },
  );
}

function unusableAnswerError({ provider }: ProviderApp, problem: string): AppError {
  return new AppError(
    'upstream_incomplete',
    `${provider.title} gave no new access token (${problem}); try again later, or ask an admin to check the app's set-up.`,
  );
}
