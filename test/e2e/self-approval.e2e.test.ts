import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createToolCall, postMcp } from '../../gateway/mcp/clients.testing.ts';
import { sampleDecisions } from '../support/decision-bodies.ts';
import { createCallerWithKey } from '../support/http.ts';
import { signInClient } from '../support/clients.ts';
import type { SignedInClient } from '../support/clients.ts';
import { createAgent, successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

const allow = { resolution: 'allow' };
const disabledError = { error: 'self_approval_disabled' };

/** A requester decides its own approvals, over MCP and over REST, with all components running. */
describe('an OAuth client that may decide its own approvals', () => {
  let world: World;
  let bot: Agent;
  let client: SignedInClient;
  let callCount = 0;

  beforeAll(async () => {
    world = await startWorld({ RATE_REGISTER_PER_HOUR: '0' });
    bot = await createAgent(world.url, world.admin, 'bot');
    client = await signInClient(world, bot);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const connectionOf = (agent: Agent, { id }: { id: string }) =>
    `/v1/identities/${agent.id}/mcp-connections/${encodeURIComponent(id)}`;
  const switchSelfApproval = async (agent: Agent, to: { id: string }, isOn: boolean) =>
    successfulBodyOf(
      await world.admin.patch(connectionOf(agent, to), { self_approve_enabled: isOn }),
    );

  /**
   * Decides with a tool of the gateway, and returns the tool's answer: the approval, or the error.
   */
  async function decide(
    tool: 'service_approve' | 'service_approve_self',
    token: string,
    decisionArguments: { approval_id: string; resolution: string; ttl?: string },
  ) {
    const { status, body } = await postMcp(world.url, token, {
      body: createToolCall(tool, decisionArguments),
    });
    return status === 200 ? body.result.structuredContent : { status };
  }
  const decideForItself = ({ token }: { token: string }, id: string, body: object = allow) =>
    decide('service_approve_self', token, { approval_id: id, ...(body as typeof allow) });
  const decideAsAncestor = ({ token }: { token: string }, id: string, body: object = allow) =>
    decide('service_approve', token, { approval_id: id, ...(body as typeof allow) });
  const decideByRest = async ({ token }: { token: string }, id: string, body: object = allow) =>
    (await createCallerWithKey(world.url, token).post(`/v1/approvals/${id}/resolve`, body)).body;
  const keyAsToken = ({ key }: Agent) => ({ token: key });

  const call = (agent: Agent, path: string) =>
    agent.post('/v1/actions/call', {
      service: 'http',
      method: 'POST',
      url: world.upstream.url + path,
    });
  /** Makes a call that is suspended; returns its approval's id and the path at the upstream. */
  async function suspendCall(agent: Agent): Promise<{ id: string; path: string }> {
    const path = `/call-${(callCount += 1)}`;
    const { approval_id: id } = successfulBodyOf(await call(agent, path));
    return { id, path };
  }
  const countHits = (path: string) => world.upstream.hits.filter(({ url }) => url === path).length;
  const statusOf = async (id: string) => (await world.admin.get(`/v1/approvals/${id}`)).body.status;

  async function createChild(parent: Agent, name: string): Promise<Agent> {
    const { id } = successfulBodyOf(await parent.post('/v1/identities/subagents', { name }));
    const { key } = successfulBodyOf(
      await parent.post(`/v1/identities/${id}/keys`, { name: 'test' }),
    );
    return { id, key, ...createCallerWithKey(world.url, key) };
  }

  test('allows its call and remembers the permission, and can use the remembered permission only while self-approval is on', async () => {
    const { id, path } = await suspendCall(bot);
    expect(await decideForItself(client, id)).toMatchObject(disabledError);
    await switchSelfApproval(bot, client, true);

    const body = { resolution: 'allow_remember', ttl: '1h' };
    expect(await decideForItself(client, id, body)).toMatchObject({
      status: 'allowed',
      relationship: 'self',
      cascaded_approval_ids: [],
    });
    await pollUntil(() => countHits(path) === 1, 'the replay');
    expect((await call(bot, path)).body.status).toBe('called');
    const { items } = successfulBodyOf(await world.admin.get(`/v1/rules?identity_id=${bot.id}`));
    expect(items).toMatchObject([
      { via: 'self', created_by: world.admin.id, approval_id: id, expires_at: expect.any(String) },
    ]);

    // A remembered rule applies only while the switch of the client that made the rule is on. The
    // switch of another client of the agent does not count.
    await switchSelfApproval(bot, await signInClient(world, bot), true);
    await switchSelfApproval(bot, client, false);
    await pollUntil(
      async () => (await call(bot, path)).body.status === 'pending_approval',
      'the gap',
    );
    await switchSelfApproval(bot, client, true);
    await pollUntil(async () => (await call(bot, path)).body.status === 'called', 'the rule');
  });

  describe('self-approval that is switched on', () => {
    let approval: { id: string; path: string };
    beforeAll(async () => {
      await switchSelfApproval(bot, client, true);
      approval = await suspendCall(bot);
    });

    test('does not permit a decision over REST, with the requester’s key or its access token', async () => {
      for (const credential of [keyAsToken(bot), client]) {
        for (const body of Object.values(sampleDecisions)) {
          expect(await decideByRest(credential, approval.id, body)).toMatchObject(disabledError);
        }
      }
    });

    test('does not permit a decision as an ancestor of itself, with the requester’s client or its key', async () => {
      for (const credential of [keyAsToken(bot), client]) {
        expect(await decideAsAncestor(credential, approval.id)).toMatchObject(disabledError);
      }
    });

    test('does not permit a decision with the requester’s key, because only its client may decide', async () => {
      expect(await decideForItself(keyAsToken(bot), approval.id)).toMatchObject(disabledError);
    });

    test('does not permit a decision by another client of the same agent', async () => {
      expect(await decideForItself(await signInClient(world, bot), approval.id)).toMatchObject(
        disabledError,
      );
    });

    test('does not permit a decision by a client of the user’s other agent, nor that agent’s decision for itself', async () => {
      const other = await createAgent(world.url, world.admin, 'other');
      const clientOfOther = await signInClient(world, other);
      await switchSelfApproval(other, clientOfOther, true);

      expect(await decideForItself(clientOfOther, approval.id)).toMatchObject({
        error: 'not_in_your_chain',
      });
      const { id } = await suspendCall(other);
      expect(await decideForItself(client, id)).toMatchObject({ error: 'not_in_your_chain' });
      expect(await decideForItself(keyAsToken(other), id)).toMatchObject(disabledError);
    });

    test('does not permit any decision by a child that the requester creates', async () => {
      const child = keyAsToken(await createChild(bot, 'accomplice'));

      expect(await decideForItself(child, approval.id)).toMatchObject(disabledError);
      for (const way of [decideAsAncestor, decideByRest]) {
        expect(await way(child, approval.id)).toMatchObject({ error: 'not_in_your_chain' });
      }
    });

    test('does not permit a decision for a child’s call that the requester may not make itself', async () => {
      const { id } = await suspendCall(await createChild(bot, 'child'));

      expect(await decideForItself(client, id)).toMatchObject({ error: 'not_in_your_chain' });
      expect(await decideAsAncestor(client, id)).toMatchObject({ error: 'exceeds_authority' });
    });

    test('does not permit a rule that lasts longer than a day', async () => {
      const body = { resolution: 'allow_remember', ttl: '24h1s' };
      expect(await decideForItself(client, approval.id, body)).toMatchObject({
        error: 'exceeds_authority',
        max_ttl_seconds: 86_400,
      });
    });

    test('does not permit the requester to create a rule for itself, or to change the switch', async () => {
      const rule = { identity_id: bot.id, effect: 'allow', pattern: 'http:ANY:example.com/**' };
      for (const { token } of [keyAsToken(bot), client]) {
        const caller = createCallerWithKey(world.url, token);
        expect((await caller.post('/v1/rules', rule)).status).toBe(403);
        const switchReply = await caller.patch(connectionOf(bot, client), {
          self_approve_enabled: true,
        });
        expect([switchReply.status, switchReply.body.error]).toEqual([403, 'insufficient_scope']);
      }
    });

    test('leaves the approval waiting after all these refused decisions', async () => {
      expect(await statusOf(approval.id)).toBe('pending');
      expect(countHits(approval.path)).toBe(0);
    });
  });

  test('cannot decide once self-approval is switched off', async () => {
    await switchSelfApproval(bot, client, true);
    const { id } = await suspendCall(bot);
    await switchSelfApproval(bot, client, false);

    expect(await decideForItself(client, id)).toMatchObject(disabledError);
    expect(await statusOf(id)).toBe('pending');
  });

  test('cannot run a call that it allowed, if self-approval is switched off before the call runs', async () => {
    const manualAgent = await createAgent(world.url, world.admin, 'slow');
    successfulBodyOf(
      await world.admin.patch(`/v1/identities/${manualAgent.id}`, { auto_call_on_approve: false }),
    );
    const ownClient = await signInClient(world, manualAgent);
    await switchSelfApproval(manualAgent, ownClient, true);
    await switchSelfApproval(manualAgent, await signInClient(world, manualAgent), true);
    const { id, path } = await suspendCall(manualAgent);
    expect(await decideForItself(ownClient, id)).toMatchObject({
      execution: { status: 'pending' },
    });
    await switchSelfApproval(manualAgent, ownClient, false);

    const resumeReply = await manualAgent.post('/v1/actions/call', { approval_id: id });
    expect([resumeReply.status, resumeReply.body.error]).toEqual([409, 'approval_stale']);
    expect(countHits(path)).toBe(0);
  });

  test('has self-approval switched off when its agent is archived and created again', async () => {
    const first = await createAgent(world.url, world.admin, 'phoenix');
    const ownClient = await signInClient(world, first);
    await switchSelfApproval(first, ownClient, true);
    const { id, path } = await suspendCall(first);
    await decideForItself(ownClient, id, { resolution: 'allow_remember', ttl: '1h' });
    await pollUntil(() => countHits(path) === 1, 'the replay');
    successfulBodyOf(await world.admin.post(`/v1/identities/${first.id}/archive`));
    await pollUntil(
      async () => (await decideForItself(ownClient, id)).status === 403,
      'the archive',
    );

    const second = await createAgent(world.url, world.admin, 'phoenix');
    const raised = successfulBodyOf(await call(second, path));
    expect(raised.status).toBe('pending_approval');
    const secondClient = await signInClient(world, second, ownClient.id);
    expect(await decideForItself(secondClient, raised.approval_id)).toMatchObject(disabledError);
  });

  test('can do nothing once disconnected from its agent, and has self-approval switched off when connected again', async () => {
    const agent = await createAgent(world.url, world.admin, 'parted');
    const ownClient = await signInClient(world, agent);
    await switchSelfApproval(agent, ownClient, true);
    expect((await world.admin.delete(connectionOf(agent, ownClient))).status).toBe(204);

    await pollUntil(
      async () => (await decideForItself(ownClient, randomUUID())).status === 401,
      'the end of it',
    );
    const { id } = await suspendCall(agent);
    expect(await decideForItself(await signInClient(world, agent, ownClient.id), id)).toMatchObject(
      disabledError,
    );
  });

  test('can do nothing in an org whose admin has blocked it', async () => {
    const agent = await createAgent(world.url, world.admin, 'shut-out');
    const ownClient = await signInClient(world, agent);
    await switchSelfApproval(agent, ownClient, true);
    const { id, path } = await suspendCall(agent);
    await decideForItself(ownClient, id, { resolution: 'allow_remember', ttl: '1h' });
    await pollUntil(() => countHits(path) === 1, 'the replay');

    successfulBodyOf(await world.admin.post(`/v1/oauth/clients/${ownClient.id}/revoke`));
    await pollUntil(
      async () => (await decideForItself(ownClient, id)).status === 401,
      'the end of its token',
    );
    await pollUntil(
      async () => (await call(agent, path)).body.status !== 'called',
      'the end of its rule',
    );
    expect((await world.admin.get('/v1/oauth/clients')).body.items).toContainEqual(
      expect.objectContaining({ id: ownClient.id, revoked_at: expect.any(String) }),
    );
  });

  test('is named in paths by its encoded id, if the id is a URL', async () => {
    const { admin, tables } = world;
    const id = 'https://app.example/a%20b/client.json?v=1;x&y=ü';
    await tables.query(
      `insert into auth.oauth_client (id, kind, name, redirect_uris)
       values ($1, 'metadata_document', 'App', '{https://app.example/cb}')`,
      [id],
    );
    await tables.query(
      `insert into auth.oauth_binding (org_id, user_id, client_id, agent_id) values ($1, $2, $3, $4)`,
      [admin.orgId, admin.id, id, bot.id],
    );

    expect(await switchSelfApproval(bot, { id }, true)).toMatchObject({
      client_id: id,
      self_approve_enabled: true,
    });
    const blockReply = await admin.post(`/v1/oauth/clients/${encodeURIComponent(id)}/revoke`);
    expect(blockReply.body).toMatchObject({ id, revoked_at: expect.any(String) });
  });

  test('has every decision and every change of its switch in the audit log, whose chain is unbroken', async () => {
    const { items } = successfulBodyOf(
      await world.admin.get(`/v1/audit?identity_id=${bot.id}&limit=200`),
    );
    const ownClient = items.filter(({ type }: { type: string }) => type === 'approval.resolved');
    expect(ownClient).toMatchObject([
      {
        description: expect.stringMatching(/^Allowed and remembered by itself/),
        credential: { kind: 'access_token', client_id: client.id },
      },
    ]);
    const switchRecords = successfulBodyOf(
      await world.admin.get('/v1/audit?type=mcp_connection.changed&limit=200'),
    );
    expect(switchRecords.items.length).toBeGreaterThan(4);
    expect(successfulBodyOf(await world.admin.get('/v1/audit/verify'))).toMatchObject({
      valid: true,
    });
  });
});
