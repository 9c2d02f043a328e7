import { errors } from 'oidc-provider';
import type { Adapter, AdapterPayload } from 'oidc-provider';
import { v7 as uuidv7 } from 'uuid';

import { hashToken } from '../credentials/domain/checked-token.ts';
import { formatScopedId, parseScopedId } from './domain/scoped-id.ts';
import type { ScopedId } from './domain/scoped-id.ts';
import { findLiveOauthGrant } from '../oauth-clients/oauth-grants.sql.ts';
import type { OauthGrant } from '../oauth-clients/oauth-grants.sql.ts';
import { deleteInteraction, findInteraction, insertInteraction } from './oauth-interactions.sql.ts';
import { consumeOauthToken, findOauthToken, insertOauthToken } from './oauth-tokens.sql.ts';
import type { OauthTokenKind } from './oauth-tokens.sql.ts';
import { revokeAccessToken, revokeOauthGrant } from './revoke-oauth-grant.ts';
import { findClientMetadata } from './find-client.ts';
import type { OauthDeps } from './deps.ts';
import { getRequestScope } from './request-scope.ts';

/**
 * Returns the storage that the library `oidc-provider` uses for the model with this name. Codes,
 * tokens, grants and waiting authorizations are stored in auth's tables. The library only reads
 * sessions and clients: sessions are those of the dashboard, and `register-client.ts` registers
 * clients.
 */
export function createAdapter(deps: OauthDeps): (name: string) => Adapter {
  const adapters: Readonly<Record<string, Adapter>> = {
    AuthorizationCode: createTokenAdapter(deps, 'code'),
    AccessToken: createTokenAdapter(deps, 'access'),
    RefreshToken: createTokenAdapter(deps, 'refresh'),
    Grant: createGrantAdapter(deps),
    Interaction: createInteractionAdapter(deps),
    Session: sessionAdapter,
    Client: { ...unusedAdapter, find: (id) => findClientMetadata(deps, id) },
  };
  return (name) => adapters[name] ?? unusedAdapter;
}

const rejectCall = async (): Promise<never> => {
  throw new Error('the authorization server asked for storage that it has no use for');
};
const unusedAdapter: Adapter = {
  upsert: rejectCall,
  find: rejectCall,
  findByUserCode: rejectCall,
  findByUid: rejectCall,
  consume: rejectCall,
  destroy: rejectCall,
  revokeByGrantId: rejectCall,
};

/**
 * Stores codes and tokens. The library uses the code or token itself as the id; the table stores
 * only its hash.
 */
function createTokenAdapter(deps: OauthDeps, kind: OauthTokenKind): Adapter {
  const { db, reuseGraceSeconds: graceSeconds } = deps;
  const findStoredToken = (value: string) =>
    findOauthToken(db, { hash: hashToken(value), kind, graceSeconds });
  return {
    ...unusedAdapter,
    async upsert(value, { jti: _value, grantId, ...payload }, ttlSeconds) {
      const { orgId, id } = parseGrantId(grantId);
      await insertOauthToken(db, {
        hash: hashToken(value),
        id: uuidv7(),
        kind,
        orgId,
        grantId: id,
        generation: typeof payload['rotations'] === 'number' ? payload['rotations'] : 0,
        payload,
        ttlSeconds: ttlSeconds ?? 0,
      });
    },
    async find(value) {
      const storedRow = await findStoredToken(value);
      if (storedRow === undefined) return undefined;
      const { orgId, grantId, payload, consumedAt } = storedRow;
      return {
        ...payload,
        jti: value,
        grantId: formatScopedId({ orgId, id: grantId }),
        ...(consumedAt === null ? {} : { consumed: epochSecondsOf(consumedAt) }),
      };
    },
    async consume(value) {
      const storedRow = await findStoredToken(value);
      if (storedRow === undefined) throw new errors.InvalidGrant();
      const { orgId } = storedRow;
      if (await consumeOauthToken(db, { orgId, hash: hashToken(value), graceSeconds })) return;
      // Two requests used the token at the same time, and one of them may come from a thief, so the
      // grant ends.
      await endGrant(deps, { orgId, id: storedRow.grantId }, `${tokenKindLabels[kind]} used twice`);
      throw new errors.InvalidGrant();
    },
    async destroy(value) {
      const storedRow = await findStoredToken(value);
      // A refresh token ends together with its grant, which the library destroys in a separate
      // call.
      if (storedRow === undefined || kind !== 'access') return;
      await revokeAccessToken(deps, { orgId: storedRow.orgId, hash: hashToken(value) });
    },
    // Revoking the grant ends all its tokens (`createGrantAdapter`), so this method has nothing to do.
    revokeByGrantId: async () => undefined,
  };
}

const tokenKindLabels: Readonly<Record<OauthTokenKind, string>> = {
  code: 'An authorization code was',
  access: 'An access token was',
  refresh: 'A refresh token was',
};

function createGrantAdapter(deps: OauthDeps): Adapter {
  return {
    ...unusedAdapter,
    async find(grantId) {
      const key = parseScopedId(grantId);
      const grant = key && (await findLiveOauthGrant(deps.db, key));
      return grant && grantPayloadOf(grant);
    },
    destroy: (grantId) => endGrant(deps, parseGrantId(grantId), getDestroyReason()),
  };
}

/** Converts a grant to the form of the library. */
function grantPayloadOf(grant: OauthGrant): AdapterPayload {
  const { orgId, id, userId, clientId, resource, scopes, createdAt, expiresAt } = grant;
  return {
    jti: formatScopedId({ orgId, id }),
    kind: 'Grant',
    accountId: formatScopedId({ orgId, id: userId }),
    clientId,
    resources: { [resource]: scopes.join(' ') },
    iat: epochSecondsOf(createdAt),
    exp: epochSecondsOf(expiresAt),
  };
}

/**
 * Returns the reason that the audit log states. The library destroys a grant for two reasons only.
 */
function getDestroyReason(): string {
  return getRequestScope().revoking
    ? 'A client gave its refresh token back'
    : 'A code or refresh token was used twice';
}

async function endGrant(deps: OauthDeps, { orgId, id }: ScopedId, reason: string): Promise<void> {
  await revokeOauthGrant(deps, {
    orgId,
    grantId: id,
    revocationReason: reason,
    context: getRequestScope().context,
  });
}

/**
 * Stores authorizations that wait for the consent screen. Only the session that started an
 * authorization can use it.
 */
function createInteractionAdapter({ db }: OauthDeps): Adapter {
  const key = (uid: string) => {
    const { caller } = getRequestScope();
    return caller && { orgId: caller.orgId, sessionId: caller.credential.id, hash: hashToken(uid) };
  };
  return {
    ...unusedAdapter,
    async upsert(uid, payload, ttlSeconds) {
      const ownKey = key(uid);
      // Without a signed-in user nothing is stored: the browser repeats the request after sign-in.
      if (ownKey === null) return;
      const { jti: _uid, returnTo: _withUid, cid: _cid, ...rest } = payload;
      const clientId = String(payload.params?.['client_id']);
      await insertInteraction(db, {
        ...ownKey,
        clientId,
        payload: rest,
        ttlSeconds: ttlSeconds ?? 0,
      });
    },
    async find(uid) {
      const ownKey = key(uid);
      const payload = ownKey === null ? undefined : await findInteraction(db, ownKey);
      return payload && { ...payload, jti: uid };
    },
    async destroy(uid) {
      const ownKey = key(uid);
      if (ownKey !== null && (await deleteInteraction(db, ownKey))) return;
      throw new errors.SessionNotFound('This request was answered before.');
    },
  };
}

/**
 * Presents the dashboard session as a session of the library. The library stores no sessions
 * itself. The fence (fence.ts) puts the id of the dashboard session into the cookie that the
 * library reads.
 */
const sessionAdapter: Adapter = {
  ...unusedAdapter,
  upsert: async () => undefined,
  destroy: async () => undefined,
  async find(sessionId) {
    const { caller } = getRequestScope();
    if (caller === null || caller.credential.id !== sessionId) return undefined;
    const nowSeconds = Math.floor(Date.now() / 1000);
    return {
      jti: sessionId,
      uid: sessionId,
      kind: 'Session',
      accountId: formatScopedId({ orgId: caller.orgId, id: caller.userId }),
      iat: nowSeconds,
      exp: nowSeconds + 600,
    };
  },
};

function parseGrantId(grantId: string | undefined): ScopedId {
  const scopedId = parseScopedId(grantId ?? '');
  if (scopedId === undefined)
    throw new Error('the authorization server named a grant in an unknown format');
  return scopedId;
}

const epochSecondsOf = (moment: Date) => Math.floor(moment.getTime() / 1000);
