import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { openBrowser } from '../support/oauth-browser.ts';
import { mcpTemplate } from '../support/mcp-server.ts';
import { createAgent, created, startWorld } from './support/world.ts';
import type { Agent, World } from './support/world.ts';

/** An MCP server that is opened by OAuth alone, of which nothing but its address is known: another gateway. */
describe('an MCP server that says itself where its tokens come from', () => {
  let far: World;
  let near: World;
  let bot: Agent;
  let farAgent: Agent;

  beforeAll(async () => {
    far = await startWorld();
    near = await startWorld({ EGRESS_ALLOW: new URL(far.url).host });
    bot = await createAgent(near.url, near.admin, 'bot');
    farAgent = await createAgent(far.url, far.admin, 'far-agent');
  });
  afterAll(async () => {
    await near[Symbol.asyncDispose]();
    await far[Symbol.asyncDispose]();
  });

  test('is found, registered with, authorized by its person, and called', async () => {
    const { admin } = near;
    const server = `${far.url}/mcp`;
    const definition = { title: 'Far', mcp_server: server };
    const app = created(await admin.put('/v1/oauth-apps/acme', { definition }));
    expect(app).toMatchObject({
      source: 'org',
      client_id: expect.any(String),
      definition: { issuer: far.url, token_url: `${far.url}/oauth/token` },
    });
    expect(app.definition.hosts).toEqual([new URL(far.url).host]);

    const tools = '    service_auth: { risk: read, scope_param: operation }\n';
    const openapi = mcpTemplate('far', server, 'oauth', tools);
    created(await admin.post('/v1/templates', { openapi }));
    created(await admin.post('/v1/templates/far/publish', { version: 1 }));
    const asked = created(await admin.post('/v1/connections', { template: 'far', name: 'far' }));
    const gate = new URL(asked.authorization_url).pathname;
    created(await admin.get(gate));
    const there = new URL((await admin.post(gate)).headers.get('location') ?? '');
    expect(there.searchParams.get('resource')).toBe(server);
    const browser = openBrowser(far.url, { cookie: far.admin.cookie });
    const back = await browser.authorize(there, { agent: farAgent.id });
    created(await admin.get(back.pathname + back.search));

    created(
      await admin.post('/v1/services', { template: 'far', credentials: { connection: 'far' } }),
    );
    const rule = { identity_id: bot.id, effect: 'allow', pattern: 'far:service_auth:whoami' };
    created(await admin.post('/v1/rules', rule));
    const call = { service: 'far', action: 'service_auth', params: { operation: 'whoami' } };
    const { result } = created(await bot.post('/v1/actions/call', call));
    expect(result.body.structuredContent).toMatchObject({
      identity: { id: farAgent.id },
      client: { id: app.client_id },
    });
    const [connection] = created(await admin.get('/v1/connections')).items;
    created(await admin.post(`/v1/connections/${connection.id}/refresh`));
    expect(created(await bot.post('/v1/actions/call', call)).status).toBe('called');
  });

  test('is set up by admins alone', async () => {
    const definition = { title: 'Far', mcp_server: `${far.url}/mcp` };
    const member = await near.person({ orgId: near.admin.orgId, name: 'mia', role: 'member' });
    const refused = await member.put('/v1/oauth-apps/other', { definition });
    expect([refused.status, refused.body.error]).toEqual([403, 'forbidden']);
    expect((await bot.put('/v1/oauth-apps/other', { definition })).status).toBe(403);
  });
});
