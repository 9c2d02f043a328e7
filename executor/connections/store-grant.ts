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
import type { LockedTokens } from './connection-tokens.sql.ts';
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
  readonly scopes: string[];
  readonly hosts: string[];
  /** What the connection is bound to; null where the account opens one thing only. */
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
    // Some providers give a refresh token only for the first grant, and it stays valid for later
    // grants of the same account, so it is kept. If the account is unknown, the grants may belong
    // to two accounts, so it is not kept.
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
      scopes,
      account,
      pin: pinToStore,
      expiresInSeconds,
      // Without a refresh token there is no refresh to begin before the token's end.
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
    await finishCoveredRequests(tx, { connection, app, by });
    return connection;
  });
}

/**
 * What the connection is bound to, with all base URLs that were added meanwhile. Throws when
 * another flow has bound it to something else, and for a grant that is for everything that the
 * account opens although a template of the connection asks which of it is meant.
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

/** Another flow may have stored another account after this one was compared with the connection. */
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
