import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { loadConfig } from '#config';
import type { AuditRecord } from '#contracts/audit';
import { gatewayConfig } from '../../gateway/config.ts';
import { connectClient } from '../../gateway/mcp/clients.testing.ts';
import { startGateway } from '../../gateway/start.ts';
import { createCallerWithKey } from '../support/http.ts';

import { lastingPort } from '../../services-src/embedded/index.ts';
import { createAgent, successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

/**
 * The audit log records every refusal of a call or decision, even if the request could not be
 * parsed.
 */
describe('a refused request', () => {
  let world: World;
  let target: object;

  beforeAll(async () => {
    world = await startWorld();
    target = { service: 'http', method: 'POST', url: `${world.upstream.url}/things` };
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const agentNamed = (name: string) => createAgent(world.url, world.admin, name);
  const allow = async ({ id }: Agent) =>
    successfulBodyOf(
      await world.admin.post('/v1/rules', {
        identity_id: id,
        effect: 'allow',
        pattern: 'http:POST:*',
      }),
    );
  async function refusalsOf({ id }: { id: string }): Promise<AuditRecord[]> {
    const query = `/v1/audit?identity_id=${id}&outcome=refused&limit=200`;
    return successfulBodyOf(await world.admin.get(query)).items;
  }
  /** Waits until an identity has this many recorded refusals, and returns them. */
  async function untilRefusals(of: { id: string }, count: number): Promise<AuditRecord[]> {
    await pollUntil(async () => (await refusalsOf(of)).length >= count, `${count} refusals`);
    return refusalsOf(of);
  }
  const summariseRecords = (records: readonly AuditRecord[]) =>
    records.map(({ type, error, action }) => [type, error, action]).toReversed();

  test('is recorded if it would call an action, whether or not it could be parsed', async () => {
    const agent = await agentNamed('caller');
    await allow(agent);
    const call = (body: object, headers?: Record<string, string>) =>
      agent.post('/v1/actions/call', body, headers);
    const refusalCodes: string[] = [];
    const noteRefusal = async (reply: ReturnType<typeof call>) =>
      refusalCodes.push((await reply).body.error);

    await noteRefusal(call({ action: 'a' }));
    await noteRefusal(call({ service: 'http', methode: 'CANARY-kept-nowhere' }));
    await noteRefusal(call({ service: 'nosuch', action: 'a' }));
    await noteRefusal(call({ ...target, filter: '.a[' }));
    successfulBodyOf(await call(target, { 'idempotency-key': 'k' }));
    await noteRefusal(call({ ...target, body: { a: 1 } }, { 'idempotency-key': 'k' }));
    const brokenJsonReply = await fetch(`${world.url}/v1/actions/call`, {
      method: 'POST',
      headers: { authorization: `Bearer ${agent.key}`, 'content-type': 'application/json' },
      body: '{"service":',
    });
    expect(brokenJsonReply.status).toBe(400);

    const records = await untilRefusals(agent, 6);
    expect(summariseRecords(records)).toEqual([
      ['action.refused', 'invalid_request', 'a'],
      ['action.refused', 'invalid_request', null],
      ['action.refused', 'unknown_service', 'a'],
      ['action.refused', 'filter_invalid', expect.stringMatching(/^POST/)],
      ['action.refused', 'idempotency_key_reused', expect.stringMatching(/^POST/)],
      ['action.refused', 'invalid_request', null],
    ]);
    expect(records.map(({ error }) => error).toReversed()).toEqual([
      ...refusalCodes,
      'invalid_request',
    ]);
    expect(JSON.stringify(records)).not.toContain('CANARY');
    for (const record of records) {
      expect(record).toMatchObject({
        user_id: world.admin.id,
        identity: { id: agent.id, path: [expect.any(String), 'caller'] },
        credential: { kind: 'agent_key' },
        request_id: expect.any(String),
        ip: expect.any(String),
        count: null,
      });
    }
    expect(world.upstream.hits).toHaveLength(1);
  });

  test('is recorded with the approval if it would decide, cancel, run or resume an approval', async () => {
    const [requester, intruder] = [await agentNamed('requester'), await agentNamed('intruder')];
    const { approval_id: id } = successfulBodyOf(await requester.post('/v1/actions/call', target));
    const resolution = 'allow';
    await intruder.post(`/v1/approvals/${id}/resolve`, { resolution });
    await intruder.post(`/v1/approvals/${id}/cancel`);
    await intruder.post(`/v1/approvals/${id}/call`);
    await intruder.post('/v1/actions/call', { approval_id: id });
    await requester.post(`/v1/approvals/${id}/resolve`, { resolution });
    await requester.post(`/v1/approvals/${id}/resolve`, { resolution: 'yes' });
    const missingApprovalId = randomUUID();
    await intruder.post(`/v1/approvals/${missingApprovalId}/resolve`, { resolution });

    const refusalsOfIntruder = await untilRefusals(intruder, 3);
    expect(refusalsOfIntruder.map((each) => [each.type, each.error, each.approval_id])).toEqual([
      ['approval.refused', 'not_found', missingApprovalId],
      ['action.refused', 'not_in_your_chain', id],
      ['approval.refused', 'not_in_your_chain', id],
    ]);
    const ownRefusals = await untilRefusals(requester, 2);
    expect(ownRefusals.map(({ type, approval_id }) => [type, approval_id])).toEqual([
      ['approval.refused', id],
      ['approval.refused', id],
    ]);
    expect(successfulBodyOf(await world.admin.get(`/v1/approvals/${id}`)).status).toBe('pending');
  });

  test('is recorded over MCP as it is over REST', async () => {
    const agent = await agentNamed('over-mcp');
    const { approval_id: id } = successfulBodyOf(await agent.post('/v1/actions/call', target));
    await using connected = await connectClient(world.url, agent.key);
    const use = (name: string, given: Record<string, unknown>) =>
      connected.client.callTool({ name, arguments: given });
    await use('service_call', { service: 'nosuch', action: 'a' });
    await use('service_call', { service: 'http', method: 'GET', url: 'https://example.com' });
    await use('service_read', { service: 'nosuch', action: 'a', surplus: 1 });
    await use('service_approve', { approval_id: randomUUID(), resolution: 'allow' });
    await use('service_approve_self', { approval_id: id, resolution: 'allow' });
    await use('service_search', { limit: -1 });

    const records = await untilRefusals(agent, 5);
    expect(records.map(({ type, error }) => [type, error]).toReversed()).toEqual([
      ['action.refused', 'unknown_service'],
      ['action.refused', 'invalid_request'],
      ['action.refused', 'invalid_request'],
      ['approval.refused', 'not_found'],
      ['approval.refused', 'self_approval_disabled'],
    ]);
  });

  test('is recorded if the caller lacks the right to make a change, but not if the request is invalid or a read', async () => {
    const agent = await agentNamed('climber');
    const rule = { identity_id: agent.id, effect: 'allow', pattern: 'http:POST:*' };
    expect((await agent.post('/v1/rules', rule)).status).toBe(403);
    expect((await agent.delete(`/v1/rules/${randomUUID()}`)).status).toBe(403);
    expect((await agent.get('/v1/rules')).status).toBe(403);
    const member = await world.person({ orgId: world.admin.orgId, name: 'mia', role: 'member' });
    expect((await member.post('/v1/rules', { ...rule, surplus: 1 })).status).toBe(400);
    expect((await member.patch('/v1/org', { approval_ttl_seconds: 600 })).status).toBe(403);
    expect((await createCallerWithKey(world.url, 'wrong').post('/v1/rules', rule)).status).toBe(
      401,
    );

    expect(summariseRecords(await untilRefusals(agent, 2))).toEqual([
      ['request.refused', 'insufficient_scope', 'POST /v1/rules'],
      ['request.refused', 'insufficient_scope', 'DELETE /v1/rules/{id}'],
    ]);
    expect(summariseRecords(await untilRefusals(member, 1))).toEqual([
      ['request.refused', 'forbidden', 'PATCH /v1/org'],
    ]);
  });

  test('has one record, and if it is repeated, a second record with the number of repetitions', async () => {
    const agent = await agentNamed('prober');
    {
      const settings = { ...world.environment, PORT: String(await lastingPort()) };
      await using secondGateway = await startGateway(loadConfig(gatewayConfig, settings));
      const probingAgent = createCallerWithKey(secondGateway.url, agent.key);
      for (let n = 0; n < 30; n += 1) {
        await probingAgent.post('/v1/rules', {});
        await probingAgent.post(`/v1/approvals/${randomUUID()}/resolve`, { resolution: 'allow' });
      }
      await untilRefusals(agent, 2);
      expect((await refusalsOf(agent)).filter(({ count }) => count !== null)).toEqual([]);
    }
    const countRefusals = (records: readonly AuditRecord[]) =>
      records.reduce((sum, { count }) => sum + (count ?? 1), 0);
    await pollUntil(
      async () => countRefusals(await refusalsOf(agent)) === 60,
      '60 refusals, counted',
    );
    const records = await refusalsOf(agent);
    expect(records.length).toBeLessThan(30);
    expect(
      records.find(({ type, count }) => type === 'request.refused' && count !== null),
    ).toMatchObject({ count: 29, error: 'insufficient_scope', action: 'POST /v1/rules' });
    expect(successfulBodyOf(await world.admin.get('/v1/audit/verify'))).toMatchObject({
      valid: true,
    });
  });
});
