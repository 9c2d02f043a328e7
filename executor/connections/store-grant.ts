import type { AccountPin } from '#contracts/account-value';
import type { Transaction } from '#database';
import { appendEvent } from '#events';
import { AppError } from '#errors';
import { isSameLookUp } from '#templates';
import type { Deps } from '../deps.ts';
import { parseHosts, referenceOf } from '../credentials/domain/credential-rules.ts';
import type { GrantedTokens } from '../providers/domain/token-answer.ts';
import type { StoredConnection } from './connection.sql.ts';
import { findAccountAddress } from './connection-flow.sql.ts';
import { lockTokens, storeGrantedTokens } from './connection-tokens.sql.ts';
import type { LockedTokens, StoredScopes } from './connection-tokens.sql.ts';
import type { Account } from '../providers/look-up-account.ts';
import { createConnectionEvent } from './connection-event.ts';
import { finishCoveredRequests } from './finish-requests.ts';
import type { Actor } from '../credentials/actor.ts';
import type { ProviderApp } from '../providers/provider-apps.ts';
import { refreshMarginOf, readTokensIfAny, sealTokens } from './sealed-tokens.ts';

interface GrantToStore {
  readonly connection: StoredConnection;
  readonly app: ProviderApp;
  readonly tokens: GrantedTokens;
  readonly account: Account | null;
  readonly scopes: StoredScopes & { readonly withheldScopes: string[] };
  readonly hosts: string[];
  /**
   * The site or workspace to which the connection is bound; null when the account has access to
   * only one.
   */
  readonly pin: AccountPin | null;
  readonly by: Actor;
}

/**
 * Stores the granted tokens as the next version of the connection's tokens, and announces the
 * change.
 */
export async function storeGrant(
  { db, vault }: Pick<Deps, 'db' | 'vault'>,
  { connection: before, app, tokens, account, scopes, hosts, pin, by }: GrantToStore,
): Promise<StoredConnection> {
  const { orgId, id } = before;
  const tokenUrl = app.provider.token_url;
  const { accessToken, expiresInSeconds } = tokens;
  return db.transaction(async (tx) => {
    const storedTokens = await lockTokens(tx, { orgId, id });
    if (storedTokens === undefined) {
      throw new AppError('conflict', 'This connection was revoked meanwhile; make a new one.');
    }
    requireSameAccount(storedTokens, { connection: before, account });
    const pinToStore = await requireSamePin(tx, storedTokens, { orgId, id, pin });
    // Some providers give a refresh token only with the first grant. It stays valid for later
    // grants of the same account, so it is kept. If the account is unknown, the grants may belong
    // to two accounts, so it is dropped.
    const isSameGrant = storedTokens.accountId !== null && storedTokens.tokenUrl === tokenUrl;
    const remainingTokens =
      tokens.refreshToken === null && isSameGrant && storedTokens.sealed !== null
        ? await readTokensIfAny(tx, vault, {
            orgId,
            id,
            ...storedTokens,
            sealed: storedTokens.sealed,
          })
        : null;
    const refreshToken = tokens.refreshToken ?? remainingTokens?.refreshToken ?? null;
    const sealedTokens = await sealTokens(tx, vault, {
      place: { orgId, id, version: storedTokens.version + 1 },
      content: { accessToken, refreshToken },
    });
    const connection = await storeGrantedTokens(tx, {
      orgId,
      id,
      sealed: sealedTokens,
      tokenUrl,
      ...scopes,
      account,
      pin: pinToStore,
      expiresInSeconds,
      // Without a refresh token there is no refresh that would begin before the token expires.
      marginSeconds: refreshToken === null ? 0 : refreshMarginOf(expiresInSeconds),
      hosts: parseHosts(hosts),
    });
    const isNew = before.status === 'pending';
    const description = `connection ${referenceOf(connection)} to ${app.provider.title}`;
    const text = `${isNew ? 'Made' : 'Connected again'} ${description}`;
    await appendEvent(
      tx,
      createConnectionEvent(isNew ? 'connection.created' : 'connection.changed', {
        connection,
        text,
        by,
      }),
    );
    if (isAskedInVain(before, scopes.withheldScopes)) {
      await appendEvent(tx, createWithheldEvent({ connection, app, by }));
    }
    await finishCoveredRequests(tx, { connection, app, by });
    return connection;
  });
}

/**
 * Whether a scope was withheld that the previous grant had withheld too. Then requesting it again
 * does not help.
 */
export function isAskedInVain(
  { withheldScopes }: Pick<StoredConnection, 'withheldScopes'>,
  withheld: readonly string[],
): boolean {
  return withheld.some((scope) => withheldScopes.includes(scope));
}

/** The most scopes that one sentence lists. */
const namedMax = 3;

/**
 * Tells admins that requesting the scopes again does not help. An admin has to change the app at
 * the provider, or its definition.
 */
function createWithheldEvent({
  connection,
  app: { provider },
  by,
}: Pick<GrantToStore, 'connection' | 'app' | 'by'>) {
  const { withheldScopes } = connection;
  const names = withheldScopes.slice(0, namedMax).join(', ');
  const more =
    withheldScopes.length > namedMax ? ` and ${withheldScopes.length - namedMax} more` : '';
  const text = `${provider.title} again did not grant ${names}${more} to connection ${referenceOf(connection)}. An admin should check which scopes the app may ask for; if the provider only has other names for them, set definition.scopes of a provider of your own to opaque`;
  return createConnectionEvent('connection.scopes_withheld', { connection, text, by });
}

/**
 * What the connection is bound to, with all base URLs that were added meanwhile. Throws when
 * another flow has bound the connection to something else. Also throws for a grant without a chosen
 * value if a template of the connection looks up the values of the account.
 */
async function requireSamePin(
  tx: Transaction,
  { pin: storedPin }: LockedTokens,
  { orgId, id, pin }: { orgId: string; id: string; pin: AccountPin | null },
): Promise<AccountPin | null> {
  if (storedPin !== null) {
    const isSame =
      pin !== null && pin.value === storedPin.value && isSameLookUp(pin.from, storedPin.from);
    if (isSame) return storedPin;
    const message = `This connection was bound to ${storedPin.label} meanwhile, so nothing was changed.`;
    throw new AppError('conflict', message);
  }
  if (pin === null && (await findAccountAddress(tx, { orgId, connectionId: id })) !== null) {
    throw new AppError(
      'conflict',
      'This connection is for one of the things that your account opens, and this link does not ask which one. Connect it again.',
    );
  }
  return pin;
}

/** Another flow may have stored another account after the check of this account. */
function requireSameAccount(
  { accountId }: LockedTokens,
  { connection, account }: { connection: StoredConnection; account: Account | null },
): void {
  if (accountId === null || accountId === account?.id || accountId === account?.idBefore) return;
  throw new AppError(
    'conflict',
    `Another account was connected as "${connection.name}" meanwhile, so nothing was changed. Connect again with that one, or make another connection under another name.`,
  );
}
