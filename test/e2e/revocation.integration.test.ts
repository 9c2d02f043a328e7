import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { postMcp } from '../../gateway/mcp/clients.testing.ts';
import { createCaller } from '../support/http.ts';
import { startOauthWorld } from '../support/oauth-world.ts';
import type { OauthWorld, SignedIn } from '../support/oauth-world.ts';

/** Revoked at one gateway, refused within a second at all of them (docs/reference/identities.md#lifetimes). */
describe('on every gateway, by REST and MCP,', () => {
  let world: OauthWorld;
  let person: SignedIn;
  let agentId: string;
  beforeAll(async () => {
    world = await startOauthWorld({ authReplicas: 3, gateways: 2 });
    person = await world.person({ role: 'admin' });
    agentId = (await person.post('/v1/identities/agents', { name: 'bot' })).body.id;
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const restStatuses = (headers: Record<string, string>) =>
    Promise.all(
      world.urls.map(
        async (url) => (await createCaller(url, headers).get('/v1/identities/me')).status,
      ),
    );
  const ping = { body: { jsonrpc: '2.0', id: 1, method: 'ping' } };
  const statuses = async (token: string) => [
    ...(await restStatuses({ authorization: `Bearer ${token}` })),
    ...(await Promise.all(world.urls.map(async (url) => (await postMcp(url, token, ping)).status))),
  ];
  /** Asked of everybody before, so that what is refused was kept in every cache. */
  const expectEnd = async (ask: () => Promise<number[]>, end: () => Promise<unknown>) => {
    const before = await ask();
    expect(before).toEqual(before.map(() => 200));
    await end();
    const endedAt = performance.now();
    for (;;) {
      const sentAt = performance.now();
      const now = await ask();
      if (now.every((status) => status === 401)) return;
      // Of the time of asking, so that a busy machine may take its time to answer.
      expect(sentAt - endedAt, now.join()).toBeLessThan(1_000);
    }
  };

  test('an agent key that was revoked is refused', async () => {
    const keys = `/v1/identities/${agentId}/keys`;
    const { id, key } = (await person.post(keys, { name: 'test' })).body;
    await expectEnd(
      () => statuses(key),
      () => person.delete(`${keys}/${id}`),
    );
  });

  test('a session that has signed out is refused', async () => {
    const other = await world.person({ name: 'bea' });
    const cookie = `gateway_session=${other.sessionToken}`;
    await expectEnd(
      () => restStatuses({ cookie }),
      () => other.post('/v1/sign-out'),
    );
  });

  test('an access token is refused after its refresh token was revoked, which refreshes no more', async () => {
    const { access_token, refresh_token, clientId } = await world.signInClient(person);
    const form = { client_id: clientId, token: refresh_token };
    await expectEnd(
      () => statuses(access_token),
      () => world.post('/oauth/revoke', form, world.urls[1]),
    );
    for (const url of world.urls) {
      const again = { grant_type: 'refresh_token', client_id: clientId, refresh_token };
      expect((await world.post('/oauth/token', again, url)).body.error).toBe('invalid_grant');
    }
  });

  test('an access token is refused after its client was parted, or shut out of the org', async () => {
    const parted = await world.signInClient(person, { agent: agentId });
    await expectEnd(
      () => statuses(parted.access_token),
      () => person.delete(`/v1/identities/${agentId}/mcp-connections/${parted.clientId}`),
    );
    const shutOut = await world.signInClient(person, { agent: agentId });
    await expectEnd(
      () => statuses(shutOut.access_token),
      () => person.post(`/v1/oauth/clients/${shutOut.clientId}/revoke`),
    );
  });

  test('key and access token are refused with the agent they are of', async () => {
    const { access_token: token } = await world.signInClient(person, { agent: agentId });
    const { key } = (await person.post(`/v1/identities/${agentId}/keys`, { name: 'last' })).body;
    await expectEnd(
      async () => [...(await statuses(token)), ...(await statuses(key))],
      () => person.post(`/v1/identities/${agentId}/revoke`),
    );
  });
});
