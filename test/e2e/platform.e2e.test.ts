import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { connectClient } from '../../gateway/mcp/clients.testing.ts';
import { authorizeClient, redeemCode, registerClient } from '../support/clients.ts';
import { createAgent, successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import { createCallerWithKey } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import type { Agent, World } from '../support/world.ts';

describe('the built-in service “platform”', () => {
  let world: World;
  let agent: Agent;

  beforeAll(async () => {
    world = await startWorld();
    agent = await createAgent(world.url, world.admin, 'deploy-bot');
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const call = (caller: Caller, action: string, params: object = {}, more: object = {}) =>
    caller.post('/v1/actions/call', { service: 'platform', action, params, ...more });
  /** Calls an action of the service `platform`, and returns the body of its result. */
  async function callForResult(caller: Caller, action: string, params: object = {}) {
    const { status, result } = successfulBodyOf(await call(caller, action, params));
    expect({ action, status }).toEqual({ action, status: 'called' });
    return result.body;
  }
  const listAuditRecords = async (action: string): Promise<{ outcome: string }[]> => {
    const { items } = successfulBodyOf(
      await world.admin.get('/v1/audit?service=platform&limit=200'),
    );
    return items.filter((row: { action: string }) => row.action === action);
  };
  const suspend = async (caller: Caller) =>
    successfulBodyOf(
      await caller.post('/v1/actions/call', {
        service: 'http',
        method: 'POST',
        url: `${world.upstream.url}/waits`,
      }),
    ).approval_id as string;

  test('tells an agent, without any rule, its identity, its services and the outcome of a call', async () => {
    expect(await callForResult(agent, 'whoami')).toMatchObject({
      id: agent.id,
      kind: 'agent',
      name: 'deploy-bot',
    });
    expect(await callForResult(agent, 'list_services')).toMatchObject({ items: [] });
    expect(
      await callForResult(agent, 'search', { query: 'send mail', catalog: true }),
    ).toHaveProperty('items');
    const dryRunCall = { service: 'http', method: 'POST', path: `${world.upstream.url}/x` };
    expect(await callForResult(agent, 'validate_call', dryRunCall)).toMatchObject({
      outcome: 'would_require_approval',
    });
    const whoamiCall = { service: 'platform', action: 'whoami' };
    expect(await callForResult(agent, 'validate_call', whoamiCall)).toMatchObject({
      outcome: 'allowed',
      why: [{ effect: 'allow', by: 'platform' }],
    });
    expect(world.upstream.hits).toHaveLength(0);
  });

  test('lists waiting approvals, cancels an approval, and returns its status', async () => {
    const approval = await suspend(agent);
    const pending = await callForResult(agent, 'list_pending');
    expect(pending.items.map(({ id }: { id: string }) => id)).toContain(approval);
    expect(await callForResult(agent, 'cancel_pending', { id: approval })).toMatchObject({
      id: approval,
    });
    await pollUntil(async () => {
      const { items } = await callForResult(agent, 'get_events', { types: ['approval.resolved'] });
      expect(JSON.stringify(items)).not.toContain('audience');
      return JSON.stringify(items).includes(approval);
    }, 'the event');
    const secondCancel = successfulBodyOf(await call(agent, 'cancel_pending', { id: approval }));
    expect(secondCancel).toMatchObject({
      status: 'called',
      result: { status_code: 409, body: { error: 'already_resolved' } },
    });
  });

  test('asks a person for a secret, or for access to an account, without any rule', async () => {
    const request = await callForResult(agent, 'request_secret', {
      name: 'crm_key',
      reason: 'for the CRM',
    });
    expect(request.provide_url).toMatch(new RegExp(`^${world.url}/provide/`));
    const token = (request.provide_url as string).split('/').at(-1);
    expect(await world.admin.get(`/v1/provide/${token}`)).toMatchObject({
      status: 200,
      body: { name: 'crm_key', reason: 'for the CRM' },
    });
    // The agent has asked for this secret, but only a person may enter its value.
    const answerOfAgent = await agent.post(`/v1/provide/${token}`, {
      value: 'CANARY-own',
      allowed_hosts: [],
    });
    expect(answerOfAgent.status).toBe(403);

    const answerWithoutApp = successfulBodyOf(
      await call(agent, 'request_connection', { provider: 'github' }),
    );
    expect(answerWithoutApp.result).toMatchObject({ status_code: expect.any(Number) });
    expect(answerWithoutApp.result.status_code).toBeGreaterThanOrEqual(400);
    const answerWithoutProvider = successfulBodyOf(await call(agent, 'request_connection'));
    expect(answerWithoutProvider.result).toMatchObject({
      status_code: 400,
      body: { error: 'invalid_params' },
    });
  });

  test('creates one subagent below the caller per idempotency key', async () => {
    const body = { service: 'platform', action: 'create_subagent', params: { name: 'helper' } };
    const key = { 'idempotency-key': 'make-helper' };
    const firstAnswer = successfulBodyOf(await agent.post('/v1/actions/call', body, key));
    const repeatedAnswer = successfulBodyOf(await agent.post('/v1/actions/call', body, key));
    expect(firstAnswer.result.body).toMatchObject({ kind: 'subagent', parent_id: agent.id });
    expect(repeatedAnswer.result.body).toEqual(firstAnswer.result.body);
    const conflictingReply = await call(agent, 'create_subagent', { name: 'helper' });
    expect(successfulBodyOf(conflictingReply).result.status_code).toBe(409);
  });

  test('has its calls in the audit log like the calls of any service', async () => {
    await callForResult(agent, 'whoami');
    await callForResult(agent, 'create_subagent', { name: 'audited' });
    const listOutcomes = async (action: string) =>
      new Set((await listAuditRecords(action)).map(({ outcome }) => outcome));
    await pollUntil(
      async () => (await listOutcomes('create_subagent')).has('called'),
      'the outcome',
    );
    expect(await listOutcomes('create_subagent')).toEqual(new Set(['started', 'called']));
    await pollUntil(async () => (await listOutcomes('whoami')).has('called'), 'the read');
    expect((await listAuditRecords('whoami'))[0]).toMatchObject({
      service: 'platform',
      template: 'platform',
      permission_keys: ['platform:whoami:*'],
      decision: { by: 'platform' },
    });
  });

  test('is denied only by deny rules', async () => {
    const rule = successfulBodyOf(
      await world.admin.post('/v1/rules', {
        identity_id: agent.id,
        effect: 'deny',
        pattern: 'platform:create_subagent:*',
      }),
    );
    await pollUntil(
      async () =>
        (await call(agent, 'create_subagent', { name: 'denied' })).body.status === 'denied',
      'the rule',
    );
    expect(successfulBodyOf(await call(agent, 'whoami')).status).toBe('called');
    await world.admin.delete(`/v1/rules/${rule.id}`);
  });

  test('requires the same OAuth scopes as the REST routes', async () => {
    const client = await registerClient(world);
    const scope = 'actions:call';
    const code = await authorizeClient(world, { client_id: client, scope });
    const { token } = await redeemCode(world, client, code);
    const caller = createCallerWithKey(world.url, token);
    expect(successfulBodyOf(await call(caller, 'whoami')).status).toBe('called');
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
    ['an action that it does not have', { action: 'drop_rules' }, 404, 'unknown_action'],
    [
      'a parameter that the action does not have',
      { action: 'whoami', params: { as: 'ann' } },
      400,
      'invalid_params',
    ],
    [
      'an invalid parameter',
      { action: 'cancel_pending', params: { id: 'x' } },
      400,
      'invalid_params',
    ],
    ['a call by method and path', { method: 'GET', path: '/whoami' }, 400, 'invalid_params'],
  ])('refuses %s', async ([, given, status, error]) => {
    const reply = await agent.post('/v1/actions/call', { service: 'platform', ...given });
    expect([reply.status, reply.body.error]).toEqual([status, error]);
  });

  test('answers over MCP, where its writes cannot be called as reads', async () => {
    await using connected = await connectClient(world.url, agent.key);
    await connected.client.listTools();
    const useTool = async (name: string, given: object) => {
      const { structuredContent } = await connected.client.callTool({
        name,
        arguments: { service: 'platform', ...given },
      });
      return structuredContent as Record<string, unknown>;
    };
    expect(await useTool('service_read', { action: 'whoami' })).toMatchObject({
      status: 'called',
      result: { body: { id: agent.id } },
    });
    const createSubagentCall = { action: 'create_subagent', params: { name: 'by-mcp' } };
    expect(await useTool('service_read', createSubagentCall)).toMatchObject({
      error: 'risk_exceeded',
    });
    expect(await useTool('service_call', createSubagentCall)).toMatchObject({ status: 'called' });
    const searchAnswer = await connected.client.callTool({
      name: 'service_search',
      arguments: { query: 'create a subagent' },
    });
    expect(searchAnswer.structuredContent).toMatchObject({
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
