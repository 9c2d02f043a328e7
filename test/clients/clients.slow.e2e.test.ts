import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { choosePassword } from '../support/people.ts';
import { successfulBodyOf, startWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';
import { createCallerWithKey } from '../support/http.ts';
import type { Connect, TestedClient } from './client.ts';
import { startDesk } from './desk.ts';
import { connectInspector } from './inspector.ts';
import { connectMcpRemote } from './mcp-remote.ts';
import { connectSdk } from './sdk.ts';
import { longTimeout } from './stdio.ts';

/**
 * Widely used MCP clients, unmodified. The test follows each client from the discovery of the
 * authorization server to the end of its sign-in.
 */
const clients: readonly (readonly [string, Connect])[] = [
  ['the SDK 1.x', connectSdk],
  ['mcp-remote', connectMcpRemote()],
  ['mcp-remote of the newer revision', connectMcpRemote('--protocol', 'auto')],
  ['the Inspector', connectInspector('legacy')],
  ['the Inspector of the newer revision', connectInspector('modern')],
];

const account = { email: 'ann@example.com', password: 'CANARY-battery-staple' };
const whoamiCall = ['service_auth', { operation: 'whoami' }] as const;
const tools = ['service_approve', 'service_auth', 'service_call', 'service_read', 'service_search'];

describe('an unmodified MCP client', () => {
  let world: World;

  beforeAll(async () => {
    world = await startWorld();
    const { admin, upstream } = world;
    await choosePassword(world.url, admin, account);
    const secret = { name: 'github_token', value: 'CANARY-clients', tier: 'org' };
    successfulBodyOf(
      await admin.post('/v1/secrets', { ...secret, allowed_hosts: [upstream.host] }),
    );
    const service = { template: 'github', tier: 'org', base_url: upstream.url };
    successfulBodyOf(await admin.post('/v1/services', service));
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test.for(clients)(
    '%s signs in, calls a tool, waits for a decision, refreshes its token, and is refused after revocation',
    { timeout: 180_000 },
    async ([name, connect]) => {
      const { admin, url } = world;
      await using desk = await startDesk(url, account);
      const client = await connect(desk, `${url}/mcp`);
      expect((await client.listTools()).toSorted()).toEqual(tools);
      expect(await desk.listOpenedAddresses()).toHaveLength(1);
      const me = await client.callTool(...whoamiCall);
      expect(me).toMatchObject({ isError: false, chain: [{ id: admin.id }, { kind: 'agent' }] });

      await callWithApproval(client, name);
      await outlastAccessToken(client, me['client'].id);
      expect(await desk.listOpenedAddresses()).toHaveLength(1);

      const token = await client.accessToken();
      expect(await statusOf(token)).toBe(200);
      await client.close();
      await disconnectClient(me['identity'].id, me['client'].id);
      await expect.poll(() => statusOf(token), longTimeout).toBe(401);
      // The client's sign-in was ended, so it asks the person again at its next start. The person
      // allows it to act as another agent.
      const secondConnection = await connect(desk, `${url}/mcp`);
      const otherAnswer = await secondConnection.callTool(...whoamiCall);
      expect(otherAnswer).toMatchObject({
        isError: false,
        chain: [{ id: admin.id }, { kind: 'agent' }],
      });
      expect(otherAnswer['identity'].id).not.toBe(me['identity'].id);
      expect(await desk.listOpenedAddresses()).toHaveLength(2);
      await secondConnection.close();
    },
  );

  test.for(
    clients.flatMap(([name, connect]) =>
      ['127.0.0.1', 'localhost'].map((host) => [name, host, connect] as const),
    ),
  )(
    '%s signs in at an MCP endpoint whose URL has the host %s',
    { timeout: 180_000 },
    async ([, host, connect]) => {
      const { url } = world;
      await using desk = await startDesk(url, account);
      const client = await connect(desk, `http://${host}:${new URL(url).port}/mcp`);

      expect((await client.listTools()).toSorted()).toEqual(tools);
      await client.close();
    },
  );

  const statusOf = async (token: string) =>
    (await createCallerWithKey(world.url, token).get('/v1/identities/me')).status;

  const disconnectClient = async (agent: string, client: string) =>
    successfulBodyOf(await world.admin.delete(`/v1/identities/${agent}/mcp-connections/${client}`));

  async function callWithApproval(client: TestedClient, title: string): Promise<void> {
    const pending = await client.callTool('service_call', {
      service: 'github',
      action: 'create_issue',
      params: { repository: 'acme/site', title },
    });
    expect(pending).toMatchObject({ isError: false, status: 'pending_approval' });
    const { approval_id } = pending;
    const findPosts = () => world.upstream.hits.filter(({ body }) => body.includes(`"${title}"`));
    expect(findPosts()).toEqual([]);
    successfulBodyOf(
      await world.admin.post(`/v1/approvals/${approval_id}/resolve`, { resolution: 'allow' }),
    );
    await expect
      .poll(() => client.callTool('service_call', { approval_id }), longTimeout)
      .toMatchObject({ status: 'called', result: { status_code: 201 } });
    expect(findPosts()).toHaveLength(1);
  }

  /**
   * Makes the client's access token expire. The client must refresh the token without asking the
   * person.
   */
  async function outlastAccessToken(client: TestedClient, clientId: string): Promise<void> {
    const earlierToken = await client.accessToken();
    await world.tables.query(
      `update auth.oauth_token set expires_at = now() from auth.oauth_grant
        where oauth_grant.id = grant_id and client_id = $1 and kind = 'access'`,
      [clientId],
    );
    await expect.poll(() => statusOf(earlierToken), longTimeout).toBe(401);
    const me = await client.callTool(...whoamiCall);
    expect(me).toMatchObject({ isError: false });
    expect(await client.accessToken()).not.toBe(earlierToken);
  }
});
