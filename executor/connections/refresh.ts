import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Database } from '#database';
import type { Egress } from '#egress';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Logger } from '#telemetry';
import { referenceOf } from '../domain/credential-rules.ts';
import type { GrantedTokens } from '../domain/token-answer.ts';
import type { StoredConnection } from '../repository/connection.ts';
import {
  findTokens,
  giveUpTokens,
  releaseRefreshLease,
  storeRefreshedTokens,
  takeRefreshLease,
} from '../repository/connection-tokens.ts';
import type { StoredTokens } from '../repository/connection-tokens.ts';
import type { Vault } from '../vault/vault.ts';
import { connectionEvent } from './event.ts';
import type { Actor } from './event.ts';
import type { ProviderApp, ProviderApps } from './provider-apps.ts';
import { requestTokens, tokenRequestMs } from './token-request.ts';
import { marginOf, readTokens, sealTokens } from './tokens.ts';

export interface RefreshDeps {
  readonly db: Database;
  readonly egress: Egress;
  readonly vault: Vault;
  readonly apps: ProviderApps;
  readonly logger: Logger;
  /** Where the owner of a connection repairs it. */
  readonly authUrlOf: (connectionId: string) => string;
}

export interface Refresher {
  /**
   * Returns once the tokens are others than these, or the connection is given up; who asks at the
   * same time waits for the same answer. Throws what keeps the provider from answering.
   */
  refresh(tokens: StoredTokens, by?: Actor): Promise<void>;
}

/** How often a lost database is asked to take tokens, 250 ms apart. */
const storeAttemptsMax = 12;
/** Longer than a token request can take, with what is stored before and after it. */
const leaseSeconds = Math.ceil(tokenRequestMs / 1_000) + 10;
const retrySeconds = 5;
const lookAgainMs = 100;

/**
 * Asks for the next tokens of a connection: one request, however many callers and executors.
 *
 * The lease is committed before the provider is asked and taken back by what is stored afterwards.
 * Whoever finds one that ran out knows that an answer was lost: the old refresh token is tried
 * again, and the provider either accepts it or says that it is dead. No lock is held while the
 * provider thinks (ADR 35).
 */
export function createRefresher(deps: RefreshDeps): Refresher {
  const underWay = new Map<string, Promise<void>>();

  const refresh = async (tokens: StoredTokens, by: Actor | undefined): Promise<void> => {
    const { orgId, id, version } = tokens;
    for (;;) {
      const lease = randomUUID();
      const taken = await takeRefreshLease(deps.db, {
        orgId,
        id,
        version,
        lease,
        seconds: leaseSeconds,
      });
      if (taken !== undefined) return askProvider(deps, tokens, { lease, by, ...taken });
      const now = await findTokens(deps.db, { orgId, id });
      // Settled by somebody else, to the better or the worse.
      if (now === undefined || now.version !== version || !now.isLeased) return;
      await sleep(lookAgainMs);
    }
  };

  return {
    refresh(tokens, by) {
      const key = `${tokens.id} ${tokens.version}`;
      const shared = underWay.get(key);
      if (shared !== undefined) return shared;
      const own = refresh(tokens, by).finally(() => underWay.delete(key));
      underWay.set(key, own);
      return own;
    },
  };
}

interface Attempt {
  readonly lease: string;
  readonly wasInterrupted: boolean;
  readonly by: Actor | undefined;
}

async function askProvider(
  deps: RefreshDeps,
  tokens: StoredTokens,
  attempt: Attempt,
): Promise<void> {
  const { orgId, id, provider } = tokens;
  try {
    const refreshToken = await openRefreshToken(deps, tokens);
    const app = await deps.apps.find({ orgId, provider });
    if (app === undefined || app.provider.token_url !== tokens.tokenUrl) {
      const reason = `the app of ${provider} was removed or speaks to another server now`;
      return await giveUp(deps, tokens, { ...attempt, reason });
    }
    if (refreshToken === null) {
      if (!tokens.isExpired) throw notRefreshable(deps, tokens);
      const reason = 'its access token has ended, and the provider gave none to refresh it with';
      return await giveUp(deps, tokens, { ...attempt, reason });
    }
    const answer = await requestTokens(deps, app, {
      url: app.provider.refresh_url ?? app.provider.token_url,
      parameters: { grant_type: 'refresh_token', refresh_token: refreshToken },
    });
    if (answer.kind === 'granted') {
      const granted = { granted: answer.tokens, refreshToken, by: attempt.by };
      await untilStored(() => storeTokens(deps, tokens, granted));
    } else if (answer.kind === 'refused' && answer.isDead) {
      const lost = attempt.wasInterrupted ? '; an earlier answer had been lost' : '';
      const reason = `the provider refused its refresh token (${answer.error})${lost}`;
      await giveUp(deps, tokens, { ...attempt, reason });
    } else {
      throw unsettled(app, answer.kind === 'refused' ? answer.error : answer.problem);
    }
  } catch (thrown) {
    await releaseRefreshLease(deps.db, { orgId, id, lease: attempt.lease, retrySeconds });
    throw thrown;
  }
}

/** The provider may have ended the old refresh token by now: a lost database is asked again, 250 ms apart. */
async function untilStored(store: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await store();
      return;
    } catch (thrown) {
      if (AppError.from(thrown).code !== 'unavailable' || attempt === storeAttemptsMax)
        throw thrown;
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

/** Stored before anybody uses them. What the answer leaves out stays as it was (RFC 6749 §6). */
async function storeTokens(
  { db, vault, logger }: RefreshDeps,
  tokens: StoredTokens,
  {
    granted,
    refreshToken,
    by,
  }: { granted: GrantedTokens; refreshToken: string; by: Actor | undefined },
): Promise<void> {
  const { orgId, id, version } = tokens;
  const { accessToken, expiresInSeconds } = granted;
  const stored = await db.transaction(async (tx) => {
    const sealed = await sealTokens(tx, vault, {
      place: { orgId, id, version: version + 1 },
      content: { accessToken, refreshToken: granted.refreshToken ?? refreshToken },
    });
    const connection = await storeRefreshedTokens(tx, {
      orgId,
      id,
      version,
      sealed,
      expiresInSeconds,
      marginSeconds: marginOf(expiresInSeconds),
      scopes: granted.scopes ?? tokens.grantedScopes,
    });
    if (connection === undefined) return false;
    await appendEvent(tx, refreshed(connection, by ?? null));
    return true;
  });
  if (!stored) logger.warn({ connectionId: id }, 'refreshed tokens came too late to be stored');
}

/** Of what happens by itself, each hour, the audit log keeps nothing; caches are dropped all the same. */
function refreshed(connection: StoredConnection, by: Actor | null) {
  const text = `Refreshed connection ${referenceOf(connection)}`;
  const event = connectionEvent('connection.refreshed', { connection, text, by });
  return by === null ? { ...event, audit: null } : event;
}

async function giveUp(
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
      connectionEvent('connection.needs_reauth', { connection, text, by: by ?? null, authUrl }),
    );
  });
  logger.warn({ connectionId: id, reason }, 'connection needs its owner');
}

/** An access token that is good, and all there is: asking for another one is no reason to erase it. */
function notRefreshable({ authUrlOf }: RefreshDeps, tokens: StoredTokens): AppError {
  return new AppError(
    'reauth_required',
    `${tokens.provider} gave no token to refresh "${referenceOf(tokens)}" with; the access token stays in use. For another one its owner has to connect again at auth_url.`,
    { details: { auth_url: authUrlOf(tokens.id), connection_id: tokens.id } },
  );
}

function unsettled({ provider }: ProviderApp, problem: string): AppError {
  return new AppError(
    'upstream_incomplete',
    `${provider.title} gave no new access token (${problem}); try again later, or ask an admin to check the app's set-up.`,
  );
}
