import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { choosePassword } from '../e2e/support/people.ts';
import { created, startWorld } from '../e2e/support/world.ts';
import type { World } from '../e2e/support/world.ts';
import { withKey } from '../support/http.ts';
import type { Connect, JudgedClient } from './client.ts';
import { startDesk } from './desk.ts';
import { connectInspector } from './inspector.ts';
import { connectMcpRemote } from './mcp-remote.ts';
import { connectSdk } from './sdk.ts';
import { patience } from './stdio.ts';

/** Clients that people use, each from discovery to the end of its sign-in, as it comes. */
const clients: readonly (readonly [string, Connect])[] = [
  ['the SDK 1.x', connectSdk],
  ['mcp-remote', connectMcpRemote()],
  ['mcp-remote of the newer revision', connectMcpRemote('--protocol', 'auto')],
  ['the Inspector', connectInspector('legacy')],
  ['the Inspector of the newer revision', connectInspector('modern')],
];

const account = { email: 'ann@example.com', password: 'CANARY-battery-staple' };
const whoami = ['service_auth', { operation: 'whoami' }] as const;
const tools = ['service_approve', 'service_auth', 'service_call', 'service_read', 'service_search'];

describe('a client that somebody else made', () => {
  let world: World;

  beforeAll(async () => {
    world = await startWorld();
    const { admin, upstream } = world;
    await choosePassword(world.url, admin, account);
    const secret = { name: 'github_token', value: 'CANARY-clients', tier: 'org' };
    created(await admin.post('/v1/secrets', { ...secret, allowed_hosts: [upstream.host] }));
    const service = { template: 'github', tier: 'org', base_url: upstream.url };
    created(await admin.post('/v1/services', service));
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test.for(clients)(
    '%s signs in, calls, waits for its person, refreshes, and is stopped',
    { timeout: 180_000 },
    async ([name, connect]) => {
      const { admin, url } = world;
      await using desk = await startDesk(url, account);
      const client = await connect(desk, `${url}/mcp`);
      expect((await client.listTools()).toSorted()).toEqual(tools);
      expect(await desk.opened()).toHaveLength(1);
      const me = await client.callTool(...whoami);
      expect(me).toMatchObject({ isError: false, chain: [{ id: admin.id }, { kind: 'agent' }] });

      await callWithApproval(client, name);
      await outlastAccessToken(client, me['client'].id);
      expect(await desk.opened()).toHaveLength(1);

      const token = await client.accessToken();
      expect(await statusOf(token)).toBe(200);
      await client.close();
      await part(me['identity'].id, me['client'].id);
      await expect.poll(() => statusOf(token), patience).toBe(401);
      // Started once more it has to ask its person, who makes it another agent.
      const again = await connect(desk, `${url}/mcp`);
      const other = await again.callTool(...whoami);
      expect(other).toMatchObject({ isError: false, chain: [{ id: admin.id }, { kind: 'agent' }] });
      expect(other['identity'].id).not.toBe(me['identity'].id);
      expect(await desk.opened()).toHaveLength(2);
      await again.close();
    },
  );

  const statusOf = async (token: string) =>
    (await withKey(world.url, token).get('/v1/identities/me')).status;

  const part = async (agent: string, client: string) =>
    created(await world.admin.delete(`/v1/identities/${agent}/mcp-connections/${client}`));

  async function callWithApproval(client: JudgedClient, title: string): Promise<void> {
    const pending = await client.callTool('service_call', {
      service: 'github',
      action: 'create_issue',
      params: { repository: 'acme/site', title },
    });
    expect(pending).toMatchObject({ isError: false, status: 'pending_approval' });
    const { approval_id } = pending;
    const posts = () => world.upstream.hits.filter(({ body }) => body.includes(`"${title}"`));
    expect(posts()).toEqual([]);
    created(
      await world.admin.post(`/v1/approvals/${approval_id}/resolve`, { resolution: 'allow' }),
    );
    await expect
      .poll(() => client.callTool('service_call', { approval_id }), patience)
      .toMatchObject({ status: 'called', result: { status_code: 201 } });
    expect(posts()).toHaveLength(1);
  }

  /** What an access token no longer does, its refresh token puts right unseen. */
  async function outlastAccessToken(client: JudgedClient, clientId: string): Promise<void> {
    const before = await client.accessToken();
    await world.tables.query(
      `update auth.oauth_token set expires_at = now() from auth.oauth_grant
        where oauth_grant.id = grant_id and client_id = $1 and kind = 'access'`,
      [clientId],
    );
    await expect.poll(() => statusOf(before), patience).toBe(401);
    const me = await client.callTool(...whoami);
    expect(me).toMatchObject({ isError: false });
    expect(await client.accessToken()).not.toBe(before);
  }
});
