import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { openBrowser } from '../support/oauth-browser.ts';
import { mcpTemplate } from '../support/mcp-server.ts';
import { createAgent, successfulBodyOf, startWorld } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

/**
 * The admin knows only the address of an MCP server that requires OAuth. Another gateway plays this
 * server.
 */
describe('an MCP server that names its own authorization server', () => {
  let farWorld: World;
  let nearWorld: World;
  let bot: Agent;
  let farAgent: Agent;

  beforeAll(async () => {
    farWorld = await startWorld();
    nearWorld = await startWorld({ EGRESS_ALLOW: new URL(farWorld.url).host });
    bot = await createAgent(nearWorld.url, nearWorld.admin, 'bot');
    farAgent = await createAgent(farWorld.url, farWorld.admin, 'far-agent');
  });
  afterAll(async () => {
    await nearWorld[Symbol.asyncDispose]();
    await farWorld[Symbol.asyncDispose]();
  });

  test('is called after the gateway has registered as its client and a person has authorized the gateway', async () => {
    const { admin } = nearWorld;
    const server = `${farWorld.url}/mcp`;
    const definition = { title: 'Far', mcp_server: server };
    const app = successfulBodyOf(await admin.put('/v1/oauth-apps/acme', { definition }));
    expect(app).toMatchObject({
      source: 'org',
      client_id: expect.any(String),
      definition: { issuer: farWorld.url, token_url: `${farWorld.url}/oauth/token` },
    });
    expect(app.definition.hosts).toEqual([new URL(farWorld.url).host]);

    const toolOverrides = '    service_auth: { risk: read, scope_param: operation }\n';
    const openapi = mcpTemplate('far', server, 'oauth', toolOverrides);
    successfulBodyOf(await admin.post('/v1/templates', { openapi }));
    successfulBodyOf(await admin.post('/v1/templates/far/publish', { version: 1 }));
    const requestedConnection = successfulBodyOf(
      await admin.post('/v1/connections', { template: 'far', name: 'far' }),
    );
    const authorizationPath = new URL(requestedConnection.authorization_url).pathname;
    successfulBodyOf(await admin.get(authorizationPath));
    const farAuthorizationUrl = new URL(
      (await admin.post(authorizationPath)).headers.get('location') ?? '',
    );
    expect(farAuthorizationUrl.searchParams.get('resource')).toBe(server);
    const browser = openBrowser(farWorld.url, { cookie: farWorld.admin.cookie });
    const callbackUrl = await browser.authorize(farAuthorizationUrl, { agent: farAgent.id });
    successfulBodyOf(await admin.get(callbackUrl.pathname + callbackUrl.search));

    successfulBodyOf(
      await admin.post('/v1/services', { template: 'far', credentials: { connection: 'far' } }),
    );
    const rule = { identity_id: bot.id, effect: 'allow', pattern: 'far:service_auth:whoami' };
    successfulBodyOf(await admin.post('/v1/rules', rule));
    const call = { service: 'far', action: 'service_auth', params: { operation: 'whoami' } };
    const { result } = successfulBodyOf(await bot.post('/v1/actions/call', call));
    expect(result.body.structuredContent).toMatchObject({
      identity: { id: farAgent.id },
      client: { id: app.client_id },
    });
    const [connection] = successfulBodyOf(await admin.get('/v1/connections')).items;
    successfulBodyOf(await admin.post(`/v1/connections/${connection.id}/refresh`));
    expect(successfulBodyOf(await bot.post('/v1/actions/call', call)).status).toBe('called');
  });

  test('can be set up by admins only', async () => {
    const definition = { title: 'Far', mcp_server: `${farWorld.url}/mcp` };
    const member = await nearWorld.person({
      orgId: nearWorld.admin.orgId,
      name: 'mia',
      role: 'member',
    });
    const refused = await member.put('/v1/oauth-apps/other', { definition });
    expect([refused.status, refused.body.error]).toEqual([403, 'forbidden']);
    expect((await bot.put('/v1/oauth-apps/other', { definition })).status).toBe(403);
  });
});
