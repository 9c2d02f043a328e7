import { errors } from 'oidc-provider';
import type { Adapter, AdapterPayload } from 'oidc-provider';
import { v7 as uuidv7 } from 'uuid';

import { hashOf } from '../domain/checked-token.ts';
import { formatScopedId, parseScopedId } from '../domain/scoped-id.ts';
import type { ScopedId } from '../domain/scoped-id.ts';
import { findLiveOauthGrant } from '../repository/oauth-grants.ts';
import type { OauthGrant } from '../repository/oauth-grants.ts';
import {
  deleteInteraction,
  findInteraction,
  insertInteraction,
} from '../repository/oauth-interactions.ts';
import { consumeOauthToken, findOauthToken, insertOauthToken } from '../repository/oauth-tokens.ts';
import type { OauthTokenKind } from '../repository/oauth-tokens.ts';
import { revokeAccessToken, revokeOauthGrant } from '../usecases/revoke-oauth-grant.ts';
import { findClientMetadata } from './clients.ts';
import type { OauthDeps } from './deps.ts';
import { requestScope } from './request-scope.ts';

/**
 * The library's storage (its models by name), on our tables. What it does not store is as
 * important: the session is the dashboard's, and clients are registered by ourselves.
 */
export function createAdapter(deps: OauthDeps): (name: string) => Adapter {
  const adapters: Readonly<Record<string, Adapter>> = {
    AuthorizationCode: tokenAdapter(deps, 'code'),
    AccessToken: tokenAdapter(deps, 'access'),
    RefreshToken: tokenAdapter(deps, 'refresh'),
    Grant: grantAdapter(deps),
    Interaction: interactionAdapter(deps),
    Session: sessionAdapter,
    Client: { ...unused, find: (id) => findClientMetadata(deps, id) },
  };
  return (name) => adapters[name] ?? unused;
}

const neverCalled = async (): Promise<never> => {
  throw new Error('the authorization server asked for storage that it has no use for');
};
const unused: Adapter = {
  upsert: neverCalled,
  find: neverCalled,
  findByUserCode: neverCalled,
  findByUid: neverCalled,
  consume: neverCalled,
  destroy: neverCalled,
  revokeByGrantId: neverCalled,
};

/** Codes and tokens. Their value is the library's id: only its hash is kept. */
function tokenAdapter(deps: OauthDeps, kind: OauthTokenKind): Adapter {
  const { db, reuseGraceSeconds: graceSeconds } = deps;
  const findStored = (value: string) =>
    findOauthToken(db, { hash: hashOf(value), kind, graceSeconds });
  return {
    ...unused,
    async upsert(value, { jti: _value, grantId, ...payload }, ttlSeconds) {
      const { orgId, id } = scoped(grantId);
      await insertOauthToken(db, {
        hash: hashOf(value),
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
      const found = await findStored(value);
      if (found === undefined) return undefined;
      const { orgId, grantId, payload, consumedAt } = found;
      return {
        ...payload,
        jti: value,
        grantId: formatScopedId({ orgId, id: grantId }),
        ...(consumedAt === null ? {} : { consumed: seconds(consumedAt) }),
      };
    },
    async consume(value) {
      const found = await findStored(value);
      if (found === undefined) throw new errors.InvalidGrant();
      const { orgId } = found;
      if (await consumeOauthToken(db, { orgId, hash: hashOf(value), graceSeconds })) return;
      // Two presented it at once: whoever came second may be a thief, or the first may (D1).
      await endGrant(deps, { orgId, id: found.grantId }, `${labels[kind]} used twice`);
      throw new errors.InvalidGrant();
    },
    async destroy(value) {
      const found = await findStored(value);
      // A refresh token ends with its grant, which the library destroys as well.
      if (found === undefined || kind !== 'access') return;
      await revokeAccessToken(deps, { orgId: found.orgId, hash: hashOf(value) });
    },
    // Nothing of a revoked grant is good for anything: see `grantAdapter`.
    revokeByGrantId: async () => undefined,
  };
}

const labels: Readonly<Record<OauthTokenKind, string>> = {
  code: 'An authorization code was',
  access: 'An access token was',
  refresh: 'A refresh token was',
};

function grantAdapter(deps: OauthDeps): Adapter {
  return {
    ...unused,
    async find(grantId) {
      const key = parseScopedId(grantId);
      const grant = key && (await findLiveOauthGrant(deps.db, key));
      return grant && grantPayload(grant);
    },
    destroy: (grantId) => endGrant(deps, scoped(grantId), whyDestroyed()),
  };
}

/** Ours as the library reads it. */
function grantPayload(grant: OauthGrant): AdapterPayload {
  const { orgId, id, userId, clientId, resource, scopes, createdAt, expiresAt } = grant;
  return {
    jti: formatScopedId({ orgId, id }),
    kind: 'Grant',
    accountId: formatScopedId({ orgId, id: userId }),
    clientId,
    resources: { [resource]: scopes.join(' ') },
    iat: seconds(createdAt),
    exp: seconds(expiresAt),
  };
}

/** The library destroys a grant for two reasons only. */
function whyDestroyed(): string {
  return requestScope().revoking
    ? 'A client gave its refresh token back'
    : 'A code or refresh token was used twice';
}

async function endGrant(deps: OauthDeps, { orgId, id }: ScopedId, why: string): Promise<void> {
  await revokeOauthGrant(deps, { orgId, grantId: id, why, context: requestScope().context });
}

/** Authorizations that wait for the consent screen: of one session, and unusable outside it. */
function interactionAdapter({ db }: OauthDeps): Adapter {
  const key = (uid: string) => {
    const { caller } = requestScope();
    return caller && { orgId: caller.orgId, sessionId: caller.credential.id, hash: hashOf(uid) };
  };
  return {
    ...unused,
    async upsert(uid, payload, ttlSeconds) {
      const own = key(uid);
      // Nobody is signed in: the browser will ask again once somebody is, so nothing waits.
      if (own === null) return;
      const { jti: _uid, returnTo: _withUid, cid: _cid, ...rest } = payload;
      const clientId = String(payload.params?.['client_id']);
      await insertInteraction(db, { ...own, clientId, payload: rest, ttlSeconds: ttlSeconds ?? 0 });
    },
    async find(uid) {
      const own = key(uid);
      const payload = own === null ? undefined : await findInteraction(db, own);
      return payload && { ...payload, jti: uid };
    },
    async destroy(uid) {
      const own = key(uid);
      if (own !== null && (await deleteInteraction(db, own))) return;
      throw new errors.SessionNotFound('This request was answered before.');
    },
  };
}

/**
 * The library's session is a view of the dashboard's: it begins and ends with it, and nothing of
 * it is stored. Its id is the row's, which the fence puts where the library looks for a cookie.
 */
const sessionAdapter: Adapter = {
  ...unused,
  upsert: async () => undefined,
  destroy: async () => undefined,
  async find(sessionId) {
    const { caller } = requestScope();
    if (caller === null || caller.credential.id !== sessionId) return undefined;
    const now = Math.floor(Date.now() / 1000);
    return {
      jti: sessionId,
      uid: sessionId,
      kind: 'Session',
      accountId: formatScopedId({ orgId: caller.orgId, id: caller.userId }),
      iat: now,
      exp: now + 600,
    };
  },
};

function scoped(grantId: string | undefined): ScopedId {
  const parsed = parseScopedId(grantId ?? '');
  if (parsed === undefined) throw new Error('the authorization server named no grant of ours');
  return parsed;
}

const seconds = (moment: Date) => Math.floor(moment.getTime() / 1000);
