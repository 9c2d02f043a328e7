import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { connectBus, createClient, deadlineIn } from '#bus';
import type { Client } from '#bus';
import { loadConfig } from '#config';
import { approvals } from '#contracts/bus/approvals';
import { auth } from '#contracts/bus/auth';
import type { ApprovalResponse, ResolveApprovalBody } from '#contracts/http/approvals';
import type { Principal } from '#contracts/vocabulary';
import { createSigner } from '#signing';
import { withKey } from '../support/http.ts';
import { createAgent, created, startWorld, until } from './support/world.ts';
import type { Agent, World } from './support/world.ts';

const context = { requestId: 'req-1', traceId: null, ip: null };
const soon = () => deadlineIn(10_000);

/**
 * A requester that decides for itself, against all components. What an OAuth client's access token
 * resolves to is signed here, and sent where `service_approve_self` of the gateway sends it.
 */
describe('a client that may decide its own approvals', () => {
  let world: World;
  let bus: Awaited<ReturnType<typeof connectBus>>;
  let resolving: Client<typeof approvals>;
  let authenticating: Client<typeof auth>;
  let bot: Agent;
  let clientId: string;
  let made = 0;

  beforeAll(async () => {
    world = await startWorld();
    const { NATS_URL: url } = loadConfig(
      { component: 'gateway', names: ['NATS_URL'] },
      world.environment,
    );
    bus = await connectBus({ url, name: 'gateway' });
    resolving = createClient(bus, approvals);
    authenticating = createClient(bus, auth);
    bot = await createAgent(world.url, world.admin, 'bot');
    clientId = await bindClient(bot);
  });
  afterAll(async () => {
    await bus[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

  async function bindClient(agent: Agent): Promise<string> {
    const id = `https://app.example/${randomUUID()}.json`;
    await world.tables.query(
      `insert into auth.oauth_client (id, kind, name, redirect_uris)
       values ($1, 'metadata_document', 'Editor', '{https://app.example/cb}')`,
      [id],
    );
    await world.tables.query(
      `insert into auth.oauth_binding (org_id, user_id, client_id, agent_id) values ($1, $2, $3, $4)`,
      [world.admin.orgId, world.admin.id, id, agent.id],
    );
    return id;
  }

  const turn = async (agent: Agent, client: string, isOn: boolean) =>
    created(
      await world.admin.patch(
        `/v1/identities/${agent.id}/mcp-connections/${encodeURIComponent(client)}`,
        { self_approve_enabled: isOn },
      ),
    );

  /** The caller that a client's access token for the agent resolves to; by its key without a client. */
  async function callerOf({ key }: Agent, client: string | null): Promise<string> {
    const { claims } = await authenticating.authenticate({ kind: 'bearer', token: key }, soon());
    const key_ = world.environment['PRINCIPAL_KEY'] ?? '';
    return createSigner<Principal>('principal', key_).sign({
      ...claims,
      ...(client !== null && {
        credential: { kind: 'access_token', id: randomUUID(), clientId: client },
        scopes: ['mcp'],
      }),
    });
  }

  async function resolve(
    id: string,
    body: ResolveApprovalBody,
    {
      agent = bot,
      client = clientId,
      as = 'self',
    }: { agent?: Agent; client?: string | null; as?: 'self' | 'ancestor' } = {},
  ): Promise<ApprovalResponse> {
    const principal = await callerOf(agent, client);
    return resolving.resolve({ principal, id, as, body, context }, soon());
  }

  const call = (agent: Agent, path: string) =>
    agent.post('/v1/actions/call', {
      ...{ service: 'http', method: 'POST', url: world.upstream.url + path },
    });
  /** The id of a newly raised approval, and the path its call goes to. */
  async function suspend(agent: Agent): Promise<{ id: string; path: string }> {
    const path = `/call-${(made += 1)}`;
    const { approval_id: id } = created(await call(agent, path));
    return { id, path };
  }
  const sent = (path: string) => world.upstream.hits.filter(({ url }) => url === path).length;
  const statusOf = async (id: string) => (await world.admin.get(`/v1/approvals/${id}`)).body.status;
  const disabled = expect.objectContaining({ code: 'self_approval_disabled' });
  const allow = { resolution: 'allow' } as const;

  async function createChild(parent: Agent, name: string): Promise<Agent> {
    const { id } = created(await parent.post('/v1/identities/subagents', { name }));
    const { key } = created(await parent.post(`/v1/identities/${id}/keys`, { name: 'test' }));
    return { id, key, ...withKey(world.url, key) };
  }

  test('allows its call, remembers for its user, and loses both with the switch', async () => {
    const { id, path } = await suspend(bot);
    await expect(resolve(id, allow)).rejects.toEqual(disabled);
    await turn(bot, clientId, true);

    const body = { resolution: 'allow_remember', ttl: '1h' } as const;
    expect(await resolve(id, body)).toMatchObject({ status: 'allowed', relationship: 'self' });
    await until(() => sent(path) === 1, 'the replay');
    expect((await call(bot, path)).body.status).toBe('called');
    const { items } = created(await world.admin.get(`/v1/rules?identity_id=${bot.id}`));
    expect(items).toMatchObject([
      { via: 'self', created_by: world.admin.id, approval_id: id, expires_at: expect.any(String) },
    ]);

    await turn(bot, clientId, false);
    await until(async () => (await call(bot, path)).body.status === 'pending_approval', 'the gap');
    await turn(bot, clientId, true);
    await until(async () => (await call(bot, path)).body.status === 'called', 'the rule');

    created(await world.admin.post(`/v1/oauth/clients/${encodeURIComponent(clientId)}/revoke`));
    await until(async () => (await call(bot, path)).body.status !== 'called', 'the end of it');
    const next = await suspend(bot);
    await expect(resolve(next.id, allow)).rejects.toEqual(disabled);
    clientId = await bindClient(bot);
  });

  describe('with its switch on, a requester is refused', () => {
    let approval: { id: string; path: string };
    beforeAll(async () => {
      await turn(bot, clientId, true);
      approval = await suspend(bot);
    });

    test('by REST, with its key', async () => {
      for (const resolution of ['allow', 'allow_always', 'deny', 'bubble']) {
        const reply = await bot.post(`/v1/approvals/${approval.id}/resolve`, { resolution });
        expect([reply.status, reply.body.error]).toEqual([403, 'self_approval_disabled']);
      }
    });

    test('as an ancestor, with its own client and with its key', async () => {
      for (const client of [clientId, null]) {
        await expect(resolve(approval.id, allow, { client, as: 'ancestor' })).rejects.toEqual(
          disabled,
        );
      }
    });

    test('with its key where its client is let', async () => {
      await expect(resolve(approval.id, allow, { client: null })).rejects.toEqual(disabled);
    });

    test('by another client of the same agent', async () => {
      await expect(resolve(approval.id, allow, { client: await bindClient(bot) })).rejects.toEqual(
        disabled,
      );
      await expect(resolve(approval.id, allow, { client: 'unknown' })).rejects.toEqual(disabled);
    });

    test('by that client acting as another agent of its user, and by that one for itself', async () => {
      const other = await createAgent(world.url, world.admin, 'other');
      await expect(resolve(approval.id, allow, { agent: other })).rejects.toMatchObject({
        code: 'not_in_your_chain',
      });
      await expect(resolve((await suspend(other)).id, allow, { agent: other })).rejects.toEqual(
        disabled,
      );
    });

    test('by a child that it makes, in either way', async () => {
      const child = await createChild(bot, 'accomplice');
      for (const as of ['self', 'ancestor'] as const) {
        for (const client of [clientId, null]) {
          await expect(
            resolve(approval.id, allow, { agent: child, client, as }),
          ).rejects.toMatchObject({ code: 'not_in_your_chain' });
        }
      }
      const reply = await child.post(`/v1/approvals/${approval.id}/resolve`, allow);
      expect([reply.status, reply.body.error]).toEqual([403, 'not_in_your_chain']);
    });

    test('for a child of its own: not for itself, and as its parent only what it may do', async () => {
      const child = await createChild(bot, 'child');
      const { id } = await suspend(child);

      await expect(resolve(id, allow)).rejects.toMatchObject({ code: 'not_in_your_chain' });
      await expect(resolve(id, allow, { as: 'ancestor' })).rejects.toMatchObject({
        code: 'exceeds_authority',
      });
      await expect(resolve(id, allow, { agent: child })).rejects.toEqual(disabled);
    });

    test('a rule that lasts longer than a day, or for ever', async () => {
      for (const body of [
        { resolution: 'allow_remember', ttl: '24h1s' },
        { resolution: 'allow_always' },
      ] as const) {
        await expect(resolve(approval.id, body)).rejects.toMatchObject({
          code: 'exceeds_authority',
          details: { max_ttl_seconds: 86_400 },
        });
      }
    });

    test('a rule of its own by REST, and the switch itself', async () => {
      const rule = { identity_id: bot.id, effect: 'allow', pattern: 'http:ANY:example.com/**' };
      expect((await bot.post('/v1/rules', rule)).status).toBe(403);
      const path = `/v1/identities/${bot.id}/mcp-connections`;
      const switched = await bot.patch(`${path}/${encodeURIComponent(clientId)}`, {
        self_approve_enabled: true,
      });
      expect([switched.status, switched.body.error]).toEqual([403, 'insufficient_scope']);
      expect((await bot.get(path)).status).toBe(403);
    });

    test('and none of that has decided anything', async () => {
      expect(await statusOf(approval.id)).toBe('pending');
      expect(sent(approval.path)).toBe(0);
    });
  });

  test('switched off before it decides, it does not decide', async () => {
    await turn(bot, clientId, true);
    const { id } = await suspend(bot);
    await turn(bot, clientId, false);

    await expect(resolve(id, allow)).rejects.toEqual(disabled);
    expect(await statusOf(id)).toBe('pending');
  });

  test('switched off before its call runs, the call does not run', async () => {
    const slow = await createAgent(world.url, world.admin, 'slow');
    created(await world.admin.patch(`/v1/identities/${slow.id}`, { auto_call_on_approve: false }));
    const client = await bindClient(slow);
    await turn(slow, client, true);
    const { id, path } = await suspend(slow);
    expect(await resolve(id, allow, { agent: slow, client })).toMatchObject({
      execution: { status: 'pending' },
    });
    await turn(slow, client, false);

    const resumed = await slow.post('/v1/actions/call', { approval_id: id });
    expect([resumed.status, resumed.body.error]).toEqual([409, 'approval_stale']);
    expect(sent(path)).toBe(0);
  });

  test('archived and made anew, it begins with nothing', async () => {
    const first = await createAgent(world.url, world.admin, 'phoenix');
    const client = await bindClient(first);
    await turn(first, client, true);
    const { id, path } = await suspend(first);
    await resolve(id, { resolution: 'allow_remember', ttl: '1h' }, { agent: first, client });
    await until(() => sent(path) === 1, 'the replay');
    created(await world.admin.post(`/v1/identities/${first.id}/archive`));
    const second = await createAgent(world.url, world.admin, 'phoenix');

    const raised = created(await call(second, path));
    expect(raised.status).toBe('pending_approval');
    await expect(resolve(raised.approval_id, allow, { agent: second, client })).rejects.toEqual(
      disabled,
    );
  });

  test('every decision and switch stands in the audit log, and the log holds', async () => {
    const { items } = created(await world.admin.get(`/v1/audit?identity_id=${bot.id}&limit=200`));
    const own = items.filter(({ type }: { type: string }) => type === 'approval.resolved');
    expect(own).toMatchObject([
      {
        description: expect.stringMatching(/^Allowed and remembered by itself/),
        credential: { kind: 'access_token' },
      },
    ]);
    const all = created(await world.admin.get('/v1/audit?type=mcp_connection.changed&limit=200'));
    expect(all.items.length).toBeGreaterThan(4);
    expect(created(await world.admin.get('/v1/audit/verify'))).toMatchObject({ valid: true });
  });
});
