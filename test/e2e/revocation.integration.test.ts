import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { postMcp } from '../../gateway/mcp/clients.testing.ts';
import { createCaller } from '../support/http.ts';
import { startOauthWorld } from '../support/oauth-world.ts';
import type { OauthWorld, SignedIn } from '../support/oauth-world.ts';

/**
 * A credential that is revoked at one gateway must be refused at every gateway within a second
 * (docs/reference/identities.md#lifetimes).
 */
describe('every gateway, over REST and MCP', () => {
  let world: OauthWorld;
  let person: SignedIn;
  let agentId: string;
  beforeAll(async () => {
    world = await startOauthWorld({ authReplicas: 3, gateways: 2 });
    person = await world.person({ role: 'admin' });
    agentId = (await person.post('/v1/identities/agents', { name: 'bot' })).body.id;
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const listRestStatuses = (headers: Record<string, string>) =>
    Promise.all(
      world.urls.map(
        async (url) => (await createCaller(url, headers).get('/v1/identities/me')).status,
      ),
    );
  const ping = { body: { jsonrpc: '2.0', id: 1, method: 'ping' } };
  const listStatuses = async (token: string) => [
    ...(await listRestStatuses({ authorization: `Bearer ${token}` })),
    ...(await Promise.all(world.urls.map(async (url) => (await postMcp(url, token, ping)).status))),
  ];
  /** Each gateway answers once before the revocation, so that the credential is in its cache. */
  const expectRevocation = async (
    askStatus: () => Promise<number[]>,
    endCredential: () => Promise<unknown>,
  ) => {
    const statusesBefore = await askStatus();
    expect(statusesBefore).toEqual(statusesBefore.map(() => 200));
    await endCredential();
    const endedAt = performance.now();
    for (;;) {
      const sentAt = performance.now();
      const statuses = await askStatus();
      if (statuses.every((status) => status === 401)) return;
      // The measured second ends when the refused request was sent, because a busy machine may
      // answer slowly.
      expect(sentAt - endedAt, statuses.join()).toBeLessThan(1_000);
    }
  };

  test('refuses a revoked agent key', async () => {
    const keys = `/v1/identities/${agentId}/keys`;
    const { id, key } = (await person.post(keys, { name: 'test' })).body;
    await expectRevocation(
      () => listStatuses(key),
      () => person.delete(`${keys}/${id}`),
    );
  });

  test('refuses a session that has signed out', async () => {
    const secondPerson = await world.person({ name: 'bea' });
    const cookie = `gateway_session=${secondPerson.sessionToken}`;
    await expectRevocation(
      () => listRestStatuses({ cookie }),
      () => secondPerson.post('/v1/sign-out'),
    );
  });

  test('refuses an access token and its refresh token after the refresh token was revoked', async () => {
    const { access_token, refresh_token, clientId } = await world.signInClient(person);
    const form = { client_id: clientId, token: refresh_token };
    await expectRevocation(
      () => listStatuses(access_token),
      () => world.post('/oauth/revoke', form, world.urls[1]),
    );
    for (const url of world.urls) {
      const refreshForm = { grant_type: 'refresh_token', client_id: clientId, refresh_token };
      expect((await world.post('/oauth/token', refreshForm, url)).body.error).toBe('invalid_grant');
    }
  });

  test('refuses an access token after its client was disconnected, or blocked in the org', async () => {
    const disconnectedClient = await world.signInClient(person, { agent: agentId });
    await expectRevocation(
      () => listStatuses(disconnectedClient.access_token),
      () =>
        person.delete(`/v1/identities/${agentId}/mcp-connections/${disconnectedClient.clientId}`),
    );
    const blockedClient = await world.signInClient(person, { agent: agentId });
    await expectRevocation(
      () => listStatuses(blockedClient.access_token),
      () => person.post(`/v1/oauth/clients/${blockedClient.clientId}/revoke`),
    );
  });

  test('refuses a key and an access token after their agent was revoked', async () => {
    const { access_token: token } = await world.signInClient(person, { agent: agentId });
    const { key } = (await person.post(`/v1/identities/${agentId}/keys`, { name: 'last' })).body;
    await expectRevocation(
      async () => [...(await listStatuses(token)), ...(await listStatuses(key))],
      () => person.post(`/v1/identities/${agentId}/revoke`),
    );
  });
});

/**
 * The gateways cache answers of auth, and auth has a cache itself. The test writes the session and
 * its end directly to the table, so no event tells auth or the gateways of the end.
 */
test('a session is refused within a second although the event of its end is lost', async () => {
  await using world = await startOauthWorld({ gateways: 2 });
  const { id, sessionToken } = await world.person();
  const cookie = `gateway_session=${sessionToken}`;
  const [first = '', second = ''] = world.urls;
  const askStatus = async (url: string) =>
    (await createCaller(url, { cookie }).get('/v1/identities/me')).status;

  expect(await askStatus(first)).toBe(200);
  await world.db`update auth.session set ended_at = now() where identity_id = ${id}`;
  const endedAt = performance.now();
  // After this pause, auth's cached answer is nearly as old as it can be when the second gateway
  // caches the answer too. On a busy machine auth may have dropped the answer already, and then the
  // second gateway refuses at once.
  await sleep(350);
  for (;;) {
    const sentAt = performance.now();
    const status = await askStatus(second);
    if (status === 401) return;
    expect(status).toBe(200);
    expect(sentAt - endedAt).toBeLessThan(1_000);
  }
});
