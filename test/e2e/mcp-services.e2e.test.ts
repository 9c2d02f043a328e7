import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { mcpTemplate, sampleTools, startMcpServer } from '../support/mcp-server.ts';
import type { Era, TestMcpServer } from '../support/mcp-server.ts';
import { createAgent, created, startWorld, until } from './support/world.ts';
import type { Agent, World } from './support/world.ts';

const issue = { repository: 'acme/site', title: 'Broken', token: 'CANARY-argument' };

describe('MCP servers as services', () => {
  let world: World;
  let bot: Agent;
  const servers = {} as Record<Era, TestMcpServer>;

  beforeAll(async () => {
    servers.sessions = await startMcpServer('sessions', sampleTools());
    servers.stateless = await startMcpServer('stateless', sampleTools());
    const EGRESS_ALLOW = [servers.sessions.host, servers.stateless.host].join();
    world = await startWorld({ EGRESS_ALLOW });
    bot = await createAgent(world.url, world.admin, 'bot');
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await servers.sessions[Symbol.asyncDispose]();
    await servers.stateless[Symbol.asyncDispose]();
  });

  async function connect(key: string, url: string, auth?: string) {
    const openapi = mcpTemplate(key, url, auth);
    created(await world.admin.post('/v1/templates', { openapi, tier: 'org' }));
    const publish = `/v1/templates/${key}/publish?tier=org`;
    created(await world.admin.post(publish, { version: 1 }));
    return world.admin.post('/v1/services', { template: key, tier: 'org' });
  }
  const call = (service: string, action: string, params: object) =>
    bot.post('/v1/actions/call', { service, action, params });
  const approval = async (id: string) => created(await world.admin.get(`/v1/approvals/${id}`));
  const allow = async (id: string) => {
    created(await world.admin.post(`/v1/approvals/${id}/resolve`, { resolution: 'allow' }));
    await until(async () => {
      const status = (await approval(id)).execution?.status;
      return status === 'executed' || status === 'failed';
    }, 'the replay to end');
    return (await approval(id)).execution;
  };

  test.for(['sessions', 'stateless'] as const)(
    'a server of the era “%s” is connected, found, called and approved',
    async (era) => {
      const server = servers[era];
      server.token = `CANARY-${era}`;
      const secret = { name: 'issues_token', value: server.token, tier: 'org' };
      created(await world.admin.post('/v1/secrets', { ...secret, allowed_hosts: [server.host] }));
      const service = created(await connect(era, server.url, 'bearer'));
      expect(service).toMatchObject({ status: 'ready', actions_count: 3, tools: { version: 1 } });

      const found = created(await bot.get('/v1/search?q=create+issue')).items;
      expect(found[0]).toMatchObject({ action: 'create_issue', risk: 'write' });
      const read = created(await call(era, 'list_issues', { repository: 'acme/site' }));
      expect(read).toMatchObject({
        status: 'called',
        result: { status_code: 200, body: { content: [{ type: 'text' }] } },
      });

      const before = server.calls().length;
      const pending = created(await call(era, 'create_issue', issue));
      expect(pending).toMatchObject({ status: 'pending_approval' });
      expect(server.calls().length).toBe(before);
      const shown = await approval(pending.approval_id);
      expect(shown).toMatchObject({
        permission_keys: [`org/${era}:create_issue:acme/site`],
        action_description: 'Call the tool create_issue for acme/site',
        request: { method: 'tools/call', url: server.url, params: { token: '[REDACTED]' } },
        disclosed: [{ label: 'Title', value: 'Broken' }],
        risk: 'med',
      });
      expect(JSON.stringify(shown)).not.toContain('CANARY');

      const execution = await allow(pending.approval_id);
      expect(execution).toMatchObject({ status: 'executed', runtime: 'mcp' });
      expect(server.calls().length).toBe(before + 1);
      expect(server.calls().at(-1)?.message.params).toMatchObject({
        name: 'create_issue',
        arguments: issue,
      });
    },
  );
});
