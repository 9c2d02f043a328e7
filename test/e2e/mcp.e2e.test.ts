import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

import {
  ElicitRequestSchema,
  ElicitationCompleteNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { connectClient, postMcp } from '../../gateway/mcp/clients.testing.ts';
import { createCallerWithKey } from '../support/http.ts';
import { createChild } from './escalation/scene.ts';
import { signInClient } from '../support/clients.ts';
import { createOrg } from '../support/people.ts';

import { createAgent, successfulBodyOf, startWorld } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

const createIssueCall = (title: string) => ({
  service: 'github',
  action: 'create_issue',
  params: { repository: 'acme/site', title },
});

describe('an agent that speaks MCP', () => {
  let world: World;
  let agent: Agent;

  beforeAll(async () => {
    world = await startWorld();
    const { admin, upstream, url } = world;
    const secret = { name: 'github_token', value: 'CANARY-mcp', tier: 'org' };
    successfulBodyOf(
      await admin.post('/v1/secrets', { ...secret, allowed_hosts: [upstream.host] }),
    );
    const service = { template: 'github', tier: 'org', base_url: upstream.url };
    successfulBodyOf(await admin.post('/v1/services', service));
    agent = await createAgent(url, admin, 'deploy-bot');
  });
  afterAll(() => world[Symbol.asyncDispose]());

  /** Calls a tool with the SDK, which validates every answer against the tool's output schema. */
  async function call(key: string, name: string, given: Record<string, unknown>) {
    await using connected = await connectClient(world.url, key);
    await connected.client.listTools();
    const answer = await connected.client.callTool({ name, arguments: given });
    // eslint-disable-next-line typescript/no-explicit-any -- looked at field by field
    return { isError: answer.isError === true, ...(answer.structuredContent as any) };
  }
  const resolveApproval = (id: string, resolution: string) =>
    world.admin.post(`/v1/approvals/${id}/resolve`, { resolution });
  const countPosts = () => world.upstream.hits.filter(({ method }) => method === 'POST').length;

  test('finds actions by search, and can call each action as the search returned it', async () => {
    const all = await call(agent.key, 'service_search', {});
    expect(all.results).toMatchObject([
      { service: 'github', template: 'github', auth: { type: 'secret', connected: true } },
    ]);

    const searchAnswer = await call(agent.key, 'service_search', {
      query: 'list isues in repo',
      limit: 3,
    });
    expect(searchAnswer.results).toHaveLength(3);
    const { results } = await call(agent.key, 'service_search', { query: 'list issues' });
    expect(results[0]).toMatchObject({ service: 'github', action: 'list_issues', risk: 'read' });
    expect(results[0].params_schema.properties).toHaveProperty('repository');
    const { service, action } = results[0];
    const read = await call(agent.key, 'service_read', {
      service,
      action,
      params: { repository: 'acme/site' },
      filter: '.ok',
    });
    expect(read).toMatchObject({
      status: 'called',
      result: { status_code: 200, filtered_body: true },
    });

    const catalog = await call(agent.key, 'service_search', { query: 'sendgrid', catalog: true });
    expect(catalog.results[0]).toMatchObject({ service: null, template: 'sendgrid' });
    const status = await call(agent.key, 'service_auth', { operation: 'service_status' });
    expect(status.services).toMatchObject([{ name: 'github', status: 'ready' }]);
  });

  test('sees nothing of another org', async () => {
    const orgId = await createOrg(world.tables.query);
    const eve = await world.person({ orgId, name: 'eve', role: 'admin' });
    const stranger = await createAgent(world.url, eve, 'stranger');

    expect((await call(stranger.key, 'service_search', {})).results).toEqual([]);
    expect(await call(stranger.key, 'service_call', createIssueCall('x'))).toMatchObject({
      isError: true,
      error: 'unknown_service',
    });
    const { approval_id } = await call(
      agent.key,
      'service_call',
      createIssueCall('For our eyes only'),
    );
    for (const [tool, given] of [
      ['service_call', { approval_id }],
      ['service_approve', { approval_id, resolution: 'allow' }],
    ] as const) {
      expect(await call(stranger.key, tool, given)).toMatchObject({
        isError: true,
        error: 'not_found',
      });
    }
  });

  test('can ask for its own identity', async () => {
    const me = await call(agent.key, 'service_auth', { operation: 'whoami' });

    expect(me).toMatchObject({
      identity: { id: agent.id, kind: 'agent' },
      chain: [{ id: world.admin.id, kind: 'user' }, { id: agent.id }],
      client: null,
    });
  });

  test('cannot write with the tool service_read', async () => {
    expect(await call(agent.key, 'service_read', createIssueCall('x'))).toMatchObject({
      isError: true,
      error: 'risk_exceeded',
    });
    expect(countPosts()).toBe(0);
  });

  test('waits for its user’s approval, and gets the result with the approval_id', async () => {
    const pending = await call(agent.key, 'service_call', createIssueCall('The build is red'));
    expect(pending).toMatchObject({ status: 'pending_approval', relationship: 'self' });
    const { approval_id } = pending;
    expect(await call(agent.key, 'service_call', { approval_id })).toMatchObject({ approval_id });
    expect(
      await call(agent.key, 'service_approve', { approval_id, resolution: 'allow' }),
    ).toMatchObject({ isError: true });
    expect(countPosts()).toBe(0);

    expect((await resolveApproval(approval_id, 'allow')).status).toBe(200);
    await expect
      .poll(() => call(agent.key, 'service_call', { approval_id, verbose: true }))
      .toMatchObject({ status: 'called', result: { status_code: 201, body: { ok: true } } });
    expect(countPosts()).toBe(1);
  });

  test('keeps its call open while its user decides on the page to which the client has sent the user', async () => {
    await using connected = await connectClient(world.url, agent.key, { elicitation: { url: {} } });
    const { client } = connected;
    const postsBefore = countPosts();
    const completed: string[] = [];
    client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => {
      completed.push(params.elicitationId);
    });
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      if (params.mode !== 'url') throw new Error('only a page was offered');
      expect(params.url).toBe(`${world.url}/approvals/${params.elicitationId}`);
      expect((await resolveApproval(params.elicitationId, 'allow')).status).toBe(200);
      return { action: 'accept' };
    });

    const answer = await client.callTool({
      name: 'service_call',
      arguments: createIssueCall('While the page is open'),
    });

    expect(answer.structuredContent).toMatchObject({
      status: 'called',
      result: { status_code: 201 },
    });
    expect(countPosts()).toBe(postsBefore + 1);
    expect(completed).toHaveLength(1);
  });

  test('is told when its user denies the call', async () => {
    const postsBefore = countPosts();
    const { approval_id } = await call(agent.key, 'service_call', createIssueCall('Another'));
    await resolveApproval(approval_id, 'deny');

    expect(await call(agent.key, 'service_call', { approval_id })).toMatchObject({
      isError: false,
      status: 'denied',
    });
    expect(countPosts()).toBe(postsBefore);
  });

  test('decides on a call of its subagent, which cannot decide itself', async () => {
    const postsBefore = countPosts();
    const createdSubagent = await call(agent.key, 'service_auth', {
      operation: 'create_subagent',
      name: 'helper',
      ttl: '1h',
    });
    const keys = `/v1/identities/${createdSubagent.identity.id}/keys`;
    const { key } = successfulBodyOf(
      await createCallerWithKey(world.url, agent.key).post(keys, { name: 'mcp' }),
    );
    successfulBodyOf(
      await world.admin.post('/v1/rules', {
        identity_id: agent.id,
        effect: 'allow',
        pattern: 'org/github:create_issue:*',
      }),
    );

    const pending = await call(key, 'service_call', createIssueCall('From below'));
    expect(pending).toMatchObject({ status: 'pending_approval', relationship: 'self' });
    const { approval_id } = pending;
    const decision = { approval_id, resolution: 'allow' };
    expect(await call(key, 'service_approve', decision)).toMatchObject({ isError: true });
    expect(await call(key, 'service_approve_self', decision)).toMatchObject({
      error: 'self_approval_disabled',
    });
    expect(await call(agent.key, 'service_call', { approval_id })).toMatchObject({
      relationship: 'downstream',
    });

    expect(await call(agent.key, 'service_approve', decision)).toMatchObject({
      isError: false,
      id: approval_id,
      status: 'allowed',
    });
    await expect
      .poll(() => call(key, 'service_call', { approval_id }))
      .toMatchObject({ status: 'called' });
    expect(countPosts()).toBe(postsBefore + 1);
  });

  test('denies a call of its subagent with a reason, bubbles a second call up, and remembers a third for a time of its choice', async () => {
    const child = await createChild(world.url, agent, { name: 'asker' });
    const raiseApproval = async (title: string) =>
      (await call(child.key, 'service_call', createIssueCall(title))).approval_id as string;
    const decide = async (approval_id: string, decision: object) =>
      call(agent.key, 'service_approve', { approval_id, ...decision });

    const denied = await raiseApproval('Deny me');
    const reason = 'Not on a Friday.';
    expect(await decide(denied, { resolution: 'deny', reason })).toMatchObject({
      status: 'denied',
      reason,
    });
    expect(await call(child.key, 'service_call', { approval_id: denied })).toMatchObject({
      status: 'denied',
      reason,
    });

    const bubbledApprovalId = await raiseApproval('Hand me up');
    expect(await decide(bubbledApprovalId, { resolution: 'bubble' })).toMatchObject({
      status: 'bubbled',
      resolver_id: world.admin.id,
    });
    expect(await decide(bubbledApprovalId, { resolution: 'bubble' })).toMatchObject({
      isError: true,
      error: 'already_at_top',
    });

    const openApprovalId = await raiseApproval('Leave me open');
    const lastApprovalId = await raiseApproval('Remember me');
    expect(await decide(lastApprovalId, { resolution: 'allow_remember' })).toMatchObject({
      isError: true,
      error: 'invalid_params',
      issues: [{ path: 'ttl' }],
    });
    expect(await decide(lastApprovalId, { resolution: 'allow_always' })).toMatchObject({
      isError: true,
      error: 'exceeds_authority',
    });
    expect(
      await decide(lastApprovalId, { resolution: 'allow_remember', ttl: '2h', cascade: false }),
    ).toMatchObject({ isError: false, status: 'allowed', cascaded_approval_ids: [] });
    expect(await call(child.key, 'service_call', { approval_id: openApprovalId })).toMatchObject({
      status: 'pending_approval',
    });
    expect(await call(child.key, 'service_call', createIssueCall('Now by itself'))).toMatchObject({
      status: 'called',
    });
  });

  test('has an MCP session that neither a colleague’s agent nor another client of the agent can use', async () => {
    await using connected = await connectClient(world.url, agent.key);
    const { orgId } = world.admin;
    const mia = await world.person({ orgId, name: 'mia', role: 'member' });
    const agentOfMia = await createAgent(world.url, mia, 'hers');
    const { token } = await signInClient(world, agent);
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const headers = { 'mcp-session-id': connected.sessionId };

    expect((await postMcp(world.url, agent.key, { body: ping, headers })).status).toBe(200);
    for (const other of [agentOfMia.key, token]) {
      expect((await postMcp(world.url, other, { body: ping, headers })).status).toBe(404);
    }
  });

  test('is refused at once when it is revoked', async () => {
    const revokedAgent = await createAgent(world.url, world.admin, 'doomed');
    await using connected = await connectClient(world.url, revokedAgent.key);
    successfulBodyOf(await world.admin.post(`/v1/identities/${revokedAgent.id}/revoke`));

    await expect
      .poll(() => connected.client.ping().then(() => 'fine', String))
      .toMatch(/unauthenticated/);
  });

  test('can be the MCP Inspector on the command line', async () => {
    const tools = await inspect('--method', 'tools/list');
    expect(tools.tools).toHaveLength(5);
    const me = await inspect(
      '--method',
      'tools/call',
      '--tool-name',
      'service_auth',
      '--tool-arg',
      'operation=whoami',
    );
    expect(me.structuredContent.identity.id).toBe(agent.id);
  });

  async function inspect(...given: string[]) {
    const program = join('node_modules', '.bin', 'mcp-inspector');
    const { stdout } = await promisify(execFile)(process.execPath, [
      program,
      '--cli',
      `${world.url}/mcp`,
      '--transport',
      'http',
      '--header',
      `Authorization: Bearer ${agent.key}`,
      ...given,
    ]);
    return JSON.parse(stdout);
  }
});
