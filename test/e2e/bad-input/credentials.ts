import { createCheckedToken } from '../../support/people.ts';
import { createAgent } from '../../support/world.ts';
import { createCallerWithKey } from '../../support/http.ts';
import type { BadInput, Scene } from './scene.ts';

const me = '/v1/identities/me';
const getAsBearer = (token: (scene: Scene) => string) => (scene: Scene) =>
  scene.sendRawRequest({
    method: 'GET',
    path: me,
    headers: { authorization: `Bearer ${token(scene)}` },
  });
const getWithCookie = (scene: Scene, headers: Record<string, string>) =>
  withoutBearer(scene, { cookie: scene.admin.cookie, ...headers });
const withoutBearer = ({ url }: Scene, headers: Record<string, string>) =>
  fetch(`${url}/v1/identities/agents`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: '{"name":"intruder"}',
  }).then(async (reply) => ({
    status: reply.status,
    headers: reply.headers,
    body: await reply.json(),
  }));
const unauthenticated = { status: 401, error: 'unauthenticated' };
const forbidden = { status: 403, error: 'forbidden' };

/** Replaces one character of a key by another character of the same alphabet. */
const misspellKey = (key: string) =>
  key.slice(0, 20) + (key[20] === 'x' ? 'y' : 'x') + key.slice(21);

/**
 * Requests with a credential that is malformed, expired or revoked, or that does not permit this
 * request.
 */
export const badCredentials: BadInput[] = [
  {
    what: 'a request without any credential',
    send: (scene) => withoutBearer(scene, {}),
    ...unauthenticated,
    tells: /Authorization: Bearer/,
  },
  {
    what: 'another scheme than Bearer',
    send: ({ sendRawRequest: raw }) =>
      raw({ method: 'GET', path: me, headers: { authorization: 'Basic YTpi' } }),
    ...unauthenticated,
    tells: /Bearer/,
  },
  {
    what: 'a key with a typo',
    send: getAsBearer(({ bot }) => misspellKey(bot.key)),
    ...unauthenticated,
  },
  {
    what: 'a well-formed key that does not exist',
    send: getAsBearer(() => createCheckedToken('aak_')),
    ...unauthenticated,
  },
  {
    what: 'a truncated key',
    send: getAsBearer(({ bot }) => bot.key.slice(0, -1)),
    ...unauthenticated,
  },
  {
    what: 'a key of 10,000 characters',
    send: getAsBearer(() => `aak_${'a'.repeat(10_000)}`),
    ...unauthenticated,
  },
  {
    what: 'a session token as a bearer',
    send: getAsBearer(({ admin }) => admin.cookie.split('=')[1] ?? ''),
    ...unauthenticated,
  },
  {
    what: 'an agent key as a session cookie',
    send: ({ url, admin, bot }) =>
      fetch(`${url}${me}`, {
        headers: { cookie: `${admin.cookie.split('=')[0]}=${bot.key}` },
      }).then(async (reply) => ({
        status: reply.status,
        headers: reply.headers,
        body: await reply.json(),
      })),
    ...unauthenticated,
  },
  {
    what: 'a revoked key',
    send: async ({ url, admin, bot }) => {
      const createdKey = (await admin.post(`/v1/identities/${bot.id}/keys`, { name: 'gone' })).body;
      await admin.delete(`/v1/identities/${bot.id}/keys/${createdKey.id}`);
      return createCallerWithKey(url, createdKey.key).get(me);
    },
    ...unauthenticated,
  },
  {
    what: 'the key of a revoked agent',
    send: async ({ url, admin }) => {
      const revokedAgent = await createAgent(url, admin, 'gone');
      await admin.post(`/v1/identities/${revokedAgent.id}/revoke`);
      return revokedAgent.get(me);
    },
    ...unauthenticated,
  },
  {
    what: 'an expired key',
    send: async ({ url, admin, bot, world }) => {
      const createdKey = (await admin.post(`/v1/identities/${bot.id}/keys`, { name: 'old' })).body;
      await world.tables.query(
        `update auth.agent_key set expires_at = now() - interval '1 second' where id = $1`,
        [createdKey.id],
      );
      return createCallerWithKey(url, createdKey.key).get(me);
    },
    ...unauthenticated,
  },
  {
    what: 'the key of an archived agent',
    send: async ({ url, admin }) => {
      const archivedAgent = await createAgent(url, admin, 'archived');
      await admin.post(`/v1/identities/${archivedAgent.id}/archive`);
      return archivedAgent.post('/v1/actions/call', { service: 'github', action: 'list_issues' });
    },
    status: 403,
    error: 'identity_archived',
    tells: /restore/,
  },
  {
    what: 'an agent on a route for users',
    send: ({ bot }) => bot.post('/v1/secrets', { name: 'mine', value: 'x' }),
    status: 403,
    error: 'insufficient_scope',
    tells: /user/,
  },
  {
    what: 'a member who stores a secret of the org',
    send: ({ member }) =>
      member.post('/v1/secrets', {
        name: 'mine',
        value: 'x',
        tier: 'org',
        allowed_hosts: ['a.example'],
      }),
    ...forbidden,
  },
  {
    what: 'a session without Origin on an unsafe method',
    send: (scene) => getWithCookie(scene, {}),
    ...forbidden,
    tells: /Origin/,
  },
  {
    what: 'a session from a foreign Origin',
    send: (scene) => getWithCookie(scene, { origin: 'https://evil.example' }),
    ...forbidden,
  },
  {
    what: 'a session from the Origin null',
    send: (scene) => getWithCookie(scene, { origin: 'null' }),
    ...forbidden,
  },
  {
    what: 'a foreign Host header',
    send: ({ sendRawRequest: raw }) =>
      raw({ method: 'GET', path: me, headers: { host: 'evil.example' } }),
    ...forbidden,
    tells: /127\.0\.0\.1/,
  },
];
