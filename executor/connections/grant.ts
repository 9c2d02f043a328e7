import { appendEvent } from '#events';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { parseHosts, referenceOf } from '../domain/credential-rules.ts';
import type { GrantedTokens } from '../domain/token-answer.ts';
import type { StoredConnection } from '../repository/connection.ts';
import { lockTokens, storeGrantedTokens } from '../repository/connection-tokens.ts';
import type { Account } from './account.ts';
import { connectionEvent } from './event.ts';
import type { Actor } from './event.ts';
import type { ProviderApp } from './provider-apps.ts';
import { marginOf, readTokensIfAny, sealTokens } from './tokens.ts';

interface Grant {
  readonly connection: StoredConnection;
  readonly app: ProviderApp;
  readonly tokens: GrantedTokens;
  readonly account: Account | null;
  readonly scopes: string[];
  readonly hosts: string[];
  readonly by: Actor;
}

/** Stores what the owner was granted, as the next version of the connection's tokens, and tells of it. */
export async function storeGrant(
  { db, vault }: Pick<Deps, 'db' | 'vault'>,
  { connection: before, app, tokens, account, scopes, hosts, by }: Grant,
): Promise<StoredConnection> {
  const { orgId, id } = before;
  const tokenUrl = app.provider.token_url;
  const { accessToken, expiresInSeconds } = tokens;
  return db.transaction(async (tx) => {
    const held = await lockTokens(tx, { orgId, id });
    if (held === undefined) {
      throw new AppError('conflict', 'This connection was revoked meanwhile; make a new one.');
    }
    // Some providers give a refresh token only the first time; of the same grant it stays good.
    // Without a known account nobody has compared whose grant it is.
    const isSameGrant = before.accountId !== null && held.tokenUrl === tokenUrl;
    const kept =
      tokens.refreshToken === null && isSameGrant && held.sealed !== null
        ? await readTokensIfAny(tx, vault, { orgId, id, ...held, sealed: held.sealed })
        : null;
    const refreshToken = tokens.refreshToken ?? kept?.refreshToken ?? null;
    const sealed = await sealTokens(tx, vault, {
      place: { orgId, id, version: held.version + 1 },
      content: { accessToken, refreshToken },
    });
    const connection = await storeGrantedTokens(tx, {
      orgId,
      id,
      sealed,
      tokenUrl,
      scopes,
      account,
      expiresInSeconds,
      // Without a refresh token there is nothing to ask for before the end.
      marginSeconds: refreshToken === null ? 0 : marginOf(expiresInSeconds),
      hosts: parseHosts(hosts),
    });
    const isNew = before.status === 'pending';
    const what = `connection ${referenceOf(connection)} to ${app.provider.title}`;
    const text = `${isNew ? 'Made' : 'Connected again'} ${what}`;
    await appendEvent(
      tx,
      connectionEvent(isNew ? 'connection.created' : 'connection.changed', {
        connection,
        text,
        by,
      }),
    );
    return connection;
  });
}
