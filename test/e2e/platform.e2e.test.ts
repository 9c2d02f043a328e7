import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { connectClient } from '../../gateway/mcp/clients.testing.ts';
import { authorizeClient, redeem, registerClient } from './support/clients.ts';
import { createAgent, created, startWorld, until } from './support/world.ts';
import { withKey } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import type { Agent, World } from './support/world.ts';

describe('the service platform', () => {
  let world: World;
  let agent: Agent;

  beforeAll(async () => {
    world = await startWorld();
    agent = await createAgent(world.url, world.admin, 'deploy-bot');
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const call = (caller: Caller, action: string, params: object = {}, more: object = {}) =>
    caller.post('/v1/actions/call', { service: 'platform', action, params, ...more });
  /** The body of an action that was called. */
  async function asked(caller: Caller, action: string, params: object = {}) {
    const { status, result } = created(await call(caller, action, params));
    expect({ action, status }).toEqual({ action, status: 'called' });
    return result.body;
  }
  const auditOf = async (action: string): Promise<{ outcome: string }[]> => {
    const { items } = created(await world.admin.get('/v1/audit?service=platform&limit=200'));
    return items.filter((row: { action: string }) => row.action === action);
  };
  const suspend = async (caller: Caller) =>
    created(
      await caller.post('/v1/actions/call', {
        service: 'http',
        method: 'POST',
        url: `${world.upstream.url}/waits`,
      }),
    ).approval_id as string;

  test('tells an agent who it is, what there is and what would happen, without any rule', async () => {
    expect(await asked(agent, 'whoami')).toMatchObject({
      id: agent.id,
      kind: 'agent',
      name: 'deploy-bot',
    });
    expect(await asked(agent, 'list_services')).toMatchObject({ items: [] });
    expect(await asked(agent, 'search', { query: 'send mail', catalog: true })).toHaveProperty(
      'items',
    );
    const dry = { service: 'http', method: 'POST', path: `${world.upstream.url}/x` };
    expect(await asked(agent, 'validate_call', dry)).toMatchObject({
      outcome: 'would_require_approval',
    });
    const self = { service: 'platform', action: 'whoami' };
    expect(await asked(agent, 'validate_call', self)).toMatchObject({
      outcome: 'allowed',
      why: [{ effect: 'allow', by: 'platform' }],
    });
    expect(world.upstream.hits).toHaveLength(0);
  });

  test('lists what waits, takes it back, and tells what happened', async () => {
    const approval = await suspend(agent);
    const pending = await asked(agent, 'list_pending');
    expect(pending.items.map(({ id }: { id: string }) => id)).toContain(approval);
    expect(await asked(agent, 'cancel_pending', { id: approval })).toMatchObject({ id: approval });
    await until(async () => {
      const { items } = await asked(agent, 'get_events', { types: ['approval.resolved'] });
      expect(JSON.stringify(items)).not.toContain('audience');
      return JSON.stringify(items).includes(approval);
    }, 'the event');
    const again = created(await call(agent, 'cancel_pending', { id: approval }));
    expect(again).toMatchObject({
      status: 'called',
      result: { status_code: 409, body: { error: 'already_resolved' } },
    });
  });

  test('asks a person for a secret, or for access to an account, without any rule', async () => {
    const request = await asked(agent, 'request_secret', {
      name: 'crm_key',
      reason: 'for the CRM',
    });
    expect(request.provide_url).toMatch(new RegExp(`^${world.url}/provide/`));
    const token = (request.provide_url as string).split('/').at(-1);
    expect(await world.admin.get(`/v1/provide/${token}`)).toMatchObject({
      status: 200,
      body: { name: 'crm_key', reason: 'for the CRM' },
    });
    // What it asked for is for its person to enter.
    const own = await agent.post(`/v1/provide/${token}`, {
      value: 'CANARY-own',
      allowed_hosts: [],
    });
    expect(own.status).toBe(403);

    const nowhere = created(await call(agent, 'request_connection', { provider: 'github' }));
    expect(nowhere.result).toMatchObject({ status_code: expect.any(Number) });
    expect(nowhere.result.status_code).toBeGreaterThanOrEqual(400);
    const incomplete = created(await call(agent, 'request_connection'));
    expect(incomplete.result).toMatchObject({
      status_code: 400,
      body: { error: 'invalid_params' },
    });
  });

  test('creates a subagent below the caller, once for an idempotency key', async () => {
    const body = { service: 'platform', action: 'create_subagent', params: { name: 'helper' } };
    const key = { 'idempotency-key': 'make-helper' };
    const first = created(await agent.post('/v1/actions/call', body, key));
    const second = created(await agent.post('/v1/actions/call', body, key));
    expect(first.result.body).toMatchObject({ kind: 'subagent', parent_id: agent.id });
    expect(second.result.body).toEqual(first.result.body);
    const other = await call(agent, 'create_subagent', { name: 'helper' });
    expect(created(other).result.status_code).toBe(409);
  });

  test('is in the audit log like any call', async () => {
    await asked(agent, 'whoami');
    await asked(agent, 'create_subagent', { name: 'audited' });
    const outcomes = async (action: string) =>
      new Set((await auditOf(action)).map(({ outcome }) => outcome));
    await until(async () => (await outcomes('create_subagent')).has('called'), 'the outcome');
    expect(await outcomes('create_subagent')).toEqual(new Set(['started', 'called']));
    await until(async () => (await outcomes('whoami')).has('called'), 'the read');
    expect((await auditOf('whoami'))[0]).toMatchObject({
      service: 'platform',
      template: 'platform',
      permission_keys: ['platform:whoami:*'],
      decision: { by: 'platform' },
    });
  });

  test('is denied by a rule, and by nothing else', async () => {
    const rule = created(
      await world.admin.post('/v1/rules', {
        identity_id: agent.id,
        effect: 'deny',
        pattern: 'platform:create_subagent:*',
      }),
    );
    await until(
      async () =>
        (await call(agent, 'create_subagent', { name: 'denied' })).body.status === 'denied',
      'the rule',
    );
    expect(created(await call(agent, 'whoami')).status).toBe('called');
    await world.admin.delete(`/v1/rules/${rule.id}`);
  });

  test('asks of a credential the scopes that the REST routes ask', async () => {
    const client = await registerClient(world);
    const scope = 'actions:call';
    const code = await authorizeClient(world, { client_id: client, scope });
    const { token } = await redeem(world, client, code);
    const caller = withKey(world.url, token);
    expect(created(await call(caller, 'whoami')).status).toBe('called');
    for (const [action, params, needs] of [
      ['create_subagent', { name: 'unscoped' }, 'agents'],
      ['list_pending', {}, 'approvals'],
      ['get_events', {}, 'approvals'],
    ] as const) {
      const refused = await call(caller, action, params);
      expect([action, refused.status, refused.body.error, refused.body.scope]).toEqual([
        action,
        403,
        'insufficient_scope',
        needs,
      ]);
    }
  });

  test.for<[string, object, number, string]>([
    ['an action it has not', { action: 'drop_rules' }, 404, 'unknown_action'],
    ['a parameter it has not', { action: 'whoami', params: { as: 'ann' } }, 400, 'invalid_params'],
    ['one that is wrong', { action: 'cancel_pending', params: { id: 'x' } }, 400, 'invalid_params'],
    ['a method and a path', { method: 'GET', path: '/whoami' }, 400, 'invalid_params'],
  ])('refuses %s', async ([, given, status, error]) => {
    const reply = await agent.post('/v1/actions/call', { service: 'platform', ...given });
    expect([reply.status, reply.body.error]).toEqual([status, error]);
  });

  test('answers over MCP, and its writes are not reads', async () => {
    await using connected = await connectClient(world.url, agent.key);
    await connected.client.listTools();
    const use = async (name: string, given: object) => {
      const { structuredContent } = await connected.client.callTool({
        name,
        arguments: { service: 'platform', ...given },
      });
      return structuredContent as Record<string, unknown>;
    };
    expect(await use('service_read', { action: 'whoami' })).toMatchObject({
      status: 'called',
      result: { body: { id: agent.id } },
    });
    const made = { action: 'create_subagent', params: { name: 'by-mcp' } };
    expect(await use('service_read', made)).toMatchObject({ error: 'risk_exceeded' });
    expect(await use('service_call', made)).toMatchObject({ status: 'called' });
    const found = await connected.client.callTool({
      name: 'service_search',
      arguments: { query: 'create a subagent' },
    });
    expect(found.structuredContent).toMatchObject({
      results: [
        {
          service: 'platform',
          action: 'create_subagent',
          requires_approval: false,
          params_schema: { required: ['name'] },
        },
      ],
    });
  });
});
