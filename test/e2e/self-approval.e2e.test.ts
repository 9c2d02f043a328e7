import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { callTool, postMcp } from '../../gateway/mcp/clients.testing.ts';
import { withKey } from '../support/http.ts';
import { signInClient } from './support/clients.ts';
import type { SignedInClient } from './support/clients.ts';
import { createAgent, created, startWorld, until } from './support/world.ts';
import type { Agent, World } from './support/world.ts';

const allow = { resolution: 'allow' };
const disabled = { error: 'self_approval_disabled' };

/** A requester that decides for itself, over MCP and REST, against all components. */
describe('a client that may decide its own approvals', () => {
  let world: World;
  let bot: Agent;
  let client: SignedInClient;
  let made = 0;

  beforeAll(async () => {
    world = await startWorld({ RATE_REGISTER_PER_HOUR: '0' });
    bot = await createAgent(world.url, world.admin, 'bot');
    client = await signInClient(world, bot);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const connectionOf = (agent: Agent, { id }: { id: string }) =>
    `/v1/identities/${agent.id}/mcp-connections/${encodeURIComponent(id)}`;
  const turn = async (agent: Agent, to: { id: string }, isOn: boolean) =>
    created(await world.admin.patch(connectionOf(agent, to), { self_approve_enabled: isOn }));

  /** What a tool answers: the approval, or the error. */
  async function decide(
    tool: 'service_approve' | 'service_approve_self',
    token: string,
    given: { approval_id: string; resolution: string; ttl?: string },
  ) {
    const { status, body } = await postMcp(world.url, token, { body: callTool(tool, given) });
    return status === 200 ? body.result.structuredContent : { status };
  }
  const itself = ({ token }: { token: string }, id: string, body: object = allow) =>
    decide('service_approve_self', token, { approval_id: id, ...(body as typeof allow) });
  const asAncestor = ({ token }: { token: string }, id: string, body: object = allow) =>
    decide('service_approve', token, { approval_id: id, ...(body as typeof allow) });
  const byRest = async ({ token }: { token: string }, id: string, resolution = 'allow') =>
    (await withKey(world.url, token).post(`/v1/approvals/${id}/resolve`, { resolution })).body;
  const withKeyOf = ({ key }: Agent) => ({ token: key });

  const call = (agent: Agent, path: string) =>
    agent.post('/v1/actions/call', {
      service: 'http',
      method: 'POST',
      url: world.upstream.url + path,
    });
  /** The id of a newly raised approval, and the path its call goes to. */
  async function suspend(agent: Agent): Promise<{ id: string; path: string }> {
    const path = `/call-${(made += 1)}`;
    const { approval_id: id } = created(await call(agent, path));
    return { id, path };
  }
  const sent = (path: string) => world.upstream.hits.filter(({ url }) => url === path).length;
  const statusOf = async (id: string) => (await world.admin.get(`/v1/approvals/${id}`)).body.status;

  async function createChild(parent: Agent, name: string): Promise<Agent> {
    const { id } = created(await parent.post('/v1/identities/subagents', { name }));
    const { key } = created(await parent.post(`/v1/identities/${id}/keys`, { name: 'test' }));
    return { id, key, ...withKey(world.url, key) };
  }

  test('allows its call, remembers for its user, and loses both with the switch', async () => {
    const { id, path } = await suspend(bot);
    expect(await itself(client, id)).toMatchObject(disabled);
    await turn(bot, client, true);

    const body = { resolution: 'allow_remember', ttl: '1h' };
    expect(await itself(client, id, body)).toMatchObject({
      status: 'allowed',
      relationship: 'self',
      cascaded_approval_ids: [],
    });
    await until(() => sent(path) === 1, 'the replay');
    expect((await call(bot, path)).body.status).toBe('called');
    const { items } = created(await world.admin.get(`/v1/rules?identity_id=${bot.id}`));
    expect(items).toMatchObject([
      { via: 'self', created_by: world.admin.id, approval_id: id, expires_at: expect.any(String) },
    ]);

    // The switch of another client is not the one that the rule hangs on.
    await turn(bot, await signInClient(world, bot), true);
    await turn(bot, client, false);
    await until(async () => (await call(bot, path)).body.status === 'pending_approval', 'the gap');
    await turn(bot, client, true);
    await until(async () => (await call(bot, path)).body.status === 'called', 'the rule');
  });

  describe('with its switch on, a requester is refused', () => {
    let approval: { id: string; path: string };
    beforeAll(async () => {
      await turn(bot, client, true);
      approval = await suspend(bot);
    });

    test('by REST, with its key and with its access token', async () => {
      for (const credential of [withKeyOf(bot), client]) {
        for (const resolution of ['allow', 'allow_always', 'deny', 'bubble']) {
          expect(await byRest(credential, approval.id, resolution)).toMatchObject(disabled);
        }
      }
    });

    test('as an ancestor, with its client and with its key', async () => {
      for (const credential of [withKeyOf(bot), client]) {
        expect(await asAncestor(credential, approval.id)).toMatchObject(disabled);
      }
    });

    test('with its key where its client is let', async () => {
      expect(await itself(withKeyOf(bot), approval.id)).toMatchObject(disabled);
    });

    test('by another client of the same agent', async () => {
      expect(await itself(await signInClient(world, bot), approval.id)).toMatchObject(disabled);
    });

    test('by a client of another agent of its user, and by that one for itself', async () => {
      const other = await createAgent(world.url, world.admin, 'other');
      const others = await signInClient(world, other);
      await turn(other, others, true);

      expect(await itself(others, approval.id)).toMatchObject({ error: 'not_in_your_chain' });
      const { id } = await suspend(other);
      expect(await itself(client, id)).toMatchObject({ error: 'not_in_your_chain' });
      expect(await itself(withKeyOf(other), id)).toMatchObject(disabled);
    });

    test('by a child that it makes, whichever way', async () => {
      const child = withKeyOf(await createChild(bot, 'accomplice'));

      expect(await itself(child, approval.id)).toMatchObject(disabled);
      for (const way of [asAncestor, byRest]) {
        expect(await way(child, approval.id)).toMatchObject({ error: 'not_in_your_chain' });
      }
    });

    test('for a child: not as itself, and as its parent only what it may do', async () => {
      const { id } = await suspend(await createChild(bot, 'child'));

      expect(await itself(client, id)).toMatchObject({ error: 'not_in_your_chain' });
      expect(await asAncestor(client, id)).toMatchObject({ error: 'exceeds_authority' });
    });

    test('a rule that lasts longer than a day', async () => {
      const body = { resolution: 'allow_remember', ttl: '24h1s' };
      expect(await itself(client, approval.id, body)).toMatchObject({
        error: 'exceeds_authority',
        max_ttl_seconds: 86_400,
      });
    });

    test('a rule of its own, and the switch itself', async () => {
      const rule = { identity_id: bot.id, effect: 'allow', pattern: 'http:ANY:example.com/**' };
      for (const { token } of [withKeyOf(bot), client]) {
        const caller = withKey(world.url, token);
        expect((await caller.post('/v1/rules', rule)).status).toBe(403);
        const switched = await caller.patch(connectionOf(bot, client), {
          self_approve_enabled: true,
        });
        expect([switched.status, switched.body.error]).toEqual([403, 'insufficient_scope']);
      }
    });

    test('and none of that has decided anything', async () => {
      expect(await statusOf(approval.id)).toBe('pending');
      expect(sent(approval.path)).toBe(0);
    });
  });

  test('switched off before it decides, it does not decide', async () => {
    await turn(bot, client, true);
    const { id } = await suspend(bot);
    await turn(bot, client, false);

    expect(await itself(client, id)).toMatchObject(disabled);
    expect(await statusOf(id)).toBe('pending');
  });

  test('switched off before its call runs, the call does not run', async () => {
    const slow = await createAgent(world.url, world.admin, 'slow');
    created(await world.admin.patch(`/v1/identities/${slow.id}`, { auto_call_on_approve: false }));
    const own = await signInClient(world, slow);
    await turn(slow, own, true);
    await turn(slow, await signInClient(world, slow), true);
    const { id, path } = await suspend(slow);
    expect(await itself(own, id)).toMatchObject({ execution: { status: 'pending' } });
    await turn(slow, own, false);

    const resumed = await slow.post('/v1/actions/call', { approval_id: id });
    expect([resumed.status, resumed.body.error]).toEqual([409, 'approval_stale']);
    expect(sent(path)).toBe(0);
  });

  test('archived and made anew, an agent begins with nothing', async () => {
    const first = await createAgent(world.url, world.admin, 'phoenix');
    const own = await signInClient(world, first);
    await turn(first, own, true);
    const { id, path } = await suspend(first);
    await itself(own, id, { resolution: 'allow_remember', ttl: '1h' });
    await until(() => sent(path) === 1, 'the replay');
    created(await world.admin.post(`/v1/identities/${first.id}/archive`));
    await until(async () => (await itself(own, id)).status === 403, 'the archive');

    const second = await createAgent(world.url, world.admin, 'phoenix');
    const raised = created(await call(second, path));
    expect(raised.status).toBe('pending_approval');
    const again = await signInClient(world, second, own.id);
    expect(await itself(again, raised.approval_id)).toMatchObject(disabled);
  });

  test('parted from its agent, it acts no more, and starts without the switch when let in again', async () => {
    const agent = await createAgent(world.url, world.admin, 'parted');
    const own = await signInClient(world, agent);
    await turn(agent, own, true);
    expect((await world.admin.delete(connectionOf(agent, own))).status).toBe(204);

    await until(async () => (await itself(own, randomUUID())).status === 401, 'the end of it');
    const { id } = await suspend(agent);
    expect(await itself(await signInClient(world, agent, own.id), id)).toMatchObject(disabled);
  });

  test('shut out of the org by an admin, it acts no more there', async () => {
    const agent = await createAgent(world.url, world.admin, 'shut-out');
    const own = await signInClient(world, agent);
    await turn(agent, own, true);
    const { id, path } = await suspend(agent);
    await itself(own, id, { resolution: 'allow_remember', ttl: '1h' });
    await until(() => sent(path) === 1, 'the replay');

    created(await world.admin.post(`/v1/oauth/clients/${own.id}/revoke`));
    await until(async () => (await itself(own, id)).status === 401, 'the end of its token');
    await until(
      async () => (await call(agent, path)).body.status !== 'called',
      'the end of its rule',
    );
    expect((await world.admin.get('/v1/oauth/clients')).body.items).toContainEqual(
      expect.objectContaining({ id: own.id, revoked_at: expect.any(String) }),
    );
  });

  test('whose id is a URL is named in paths, encoded', async () => {
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

    expect(await turn(bot, { id }, true)).toMatchObject({
      client_id: id,
      self_approve_enabled: true,
    });
    const shut = await admin.post(`/v1/oauth/clients/${encodeURIComponent(id)}/revoke`);
    expect(shut.body).toMatchObject({ id, revoked_at: expect.any(String) });
  });

  test('every decision and switch stands in the audit log, and the log holds', async () => {
    const { items } = created(await world.admin.get(`/v1/audit?identity_id=${bot.id}&limit=200`));
    const own = items.filter(({ type }: { type: string }) => type === 'approval.resolved');
    expect(own).toMatchObject([
      {
        description: expect.stringMatching(/^Allowed and remembered by itself/),
        credential: { kind: 'access_token', client_id: client.id },
      },
    ]);
    const all = created(await world.admin.get('/v1/audit?type=mcp_connection.changed&limit=200'));
    expect(all.items.length).toBeGreaterThan(4);
    expect(created(await world.admin.get('/v1/audit/verify'))).toMatchObject({ valid: true });
  });
});
