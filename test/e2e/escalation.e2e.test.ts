import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { RouteSpec } from '#contracts/http/define';
import { createCaller, withKey } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import { openBrowser } from '../support/oauth-browser.ts';
import { authorization } from '../support/oauth-world.ts';
import { claims } from './escalation/relatives.ts';
import { createChild, setScene, write } from './escalation/scene.ts';
import type { Scene } from './escalation/scene.ts';
import { restAnswer, useTool, waysOf } from './escalation/ways.ts';
import type { Way } from './escalation/ways.ts';
import { usersRoutes } from './escalation/writes.ts';
import { kindsIn, possess, versionParameter } from './idor/possessions.ts';
import { registerClient } from './support/clients.ts';
import { createAgent, created, until } from './support/world.ts';
import type { Agent } from './support/world.ts';

const allow = { resolution: 'allow' };
const remember = { resolution: 'allow_remember', ttl: '1h' };

let scene: Scene;
beforeAll(async () => {
  scene = await setScene();
});
afterAll(() => scene[Symbol.asyncDispose]());

/** All that has arrived but webhooks, which come when they come. */
const sent = () => scene.world.upstream.hits.filter(({ url }) => url !== '/hook').length;
const rest = ({ key }: Agent) => waysOf(scene.world.url, { key }).slice(0, 1) as [Way];
const ways = (agent: Agent, token?: string) => waysOf(scene.world.url, agent, token);
const approvalOf = async (id: string) => (await scene.world.admin.get(`/v1/approvals/${id}`)).body;
/** Suspends a call; it stays that of this agent alone, for no other test asks for the same topic. */
async function suspend(agent: Agent, topic: string): Promise<string> {
  const [{ call }] = rest(agent);
  return (await call(write(topic))).body.approval_id;
}
const told = async (agent: Agent, topic: string) => (await rest(agent)[0].call(write(topic))).told;

/** Whatever is tried, the judge is what has arrived at the upstream. */
describe('nothing is sent for', () => {
  let before: number;
  let rows: Record<string, number>;
  beforeEach(async () => {
    before = sent();
    rows = await scene.world.tables.count();
  });

  describe('an agent that writes what gates it:', () => {
    let ids: Awaited<ReturnType<typeof possess>>['ids'];
    let credentials: Caller[];
    beforeAll(async () => {
      const { world, bot, child, client } = scene;
      ({ ids } = await possess(world, world.admin));
      credentials = [bot.key, client.token, child.key].map((each) => withKey(world.url, each));
    });

    test.for(usersRoutes.map((route) => [`${route.method} ${route.path}`, route] as const))(
      '%s',
      async ([, { method, path, body, lacksBody }]) => {
        expect(lacksBody, 'give it a valid body in writes.ts').toBe(false);
        const at = kindsIn(path).reduce<string>(
          (to, { param, kind }) => to.replace(param, ids[kind]),
          path.replace(versionParameter, '1'),
        );
        for (const caller of credentials) {
          const reply = await send(caller, { method, path: at, body });
          expect([reply.status, reply.body.error]).toEqual([403, 'insufficient_scope']);
        }
        expect(await scene.world.tables.count()).toEqual(rows);
      },
    );

    test('as an operation of a tool, or as a tool', async () => {
      const { world, bot, client } = scene;
      for (const credential of [bot.key, client.token]) {
        for (const operation of ['create_rule', 'create_service', 'create_agent', 'create_key']) {
          const { told: answer } = await useTool(world.url, credential, 'service_auth', {
            operation,
            name: 'planted',
          });
          expect(answer).toMatch(/^(invalid_request|invalid_params|-32602)$/);
        }
      }
      expect(await world.tables.count()).toEqual(rows);
    });
  });

  test('an agent that fills its own secret request, or that of a relative', async () => {
    const { world, bot, twin, child, client, theirs, mia } = scene;
    const wish = { operation: 'request_secret', name: 'planted', allowed_hosts: ['evil.example'] };
    const { body } = await useTool(world.url, bot.key, 'service_auth', wish);
    const path = `/v1/provide/${new URL(body.request.provide_url).pathname.split('/').at(-1)}`;
    const filled = { value: 'CANARY-planted', allowed_hosts: ['evil.example'] };
    for (const key of [bot.key, client.token, child.key, twin.key, theirs.key]) {
      for (const reply of [
        await withKey(world.url, key).get(path),
        await withKey(world.url, key).post(path, filled),
      ]) {
        expect([reply.status, reply.body.error]).toEqual([403, 'insufficient_scope']);
      }
    }
    // With its person's cookie in its hands it would be the person; from another page it is nobody.
    const { cookie } = world.admin;
    for (const headers of [{ cookie }, { cookie, origin: 'https://evil.example' }]) {
      const reply = await createCaller(world.url, headers).post(path, filled);
      expect([reply.status, reply.body.error]).toEqual([403, 'forbidden']);
    }
    expect((await createCaller(world.url, {}).post(path, filled)).status).toBe(401);
    for (const reply of [await mia.get(path), await mia.post(path, filled)]) {
      expect([reply.status, reply.body.error]).toEqual([404, 'not_found']);
    }
    expect((await world.admin.get(path)).body.name).toBe('planted');
    expect(await world.tables.query(`select from executor.secret where name = 'planted'`)).toEqual(
      [],
    );
  });

  test.for(claims.map((claim) => [claim.what, claim] as const))(
    'an agent that reaches for a relative: %s',
    async ([, { as, request, error }]) => {
      const { world, client } = scene;
      const { key } = scene[as];
      const wanted = await request(scene);
      for (const credential of as === 'bot' ? [key, client.token] : [key]) {
        const reply = await send(withKey(world.url, credential), wanted);
        expect(reply.body.error, JSON.stringify(reply.body)).toBe(error);
      }
      expect(await world.tables.count()).toEqual(rows);
    },
  );

  describe('who decides what is not its to decide:', () => {
    test('a relative, a stranger or the requester itself', async () => {
      const { world, child, sibling, grandchild, placed, twin, nephew, theirs, mia, bot } = scene;
      const id = await suspend(child, 'relatives');
      const others = [sibling, grandchild, placed, twin, nephew, theirs];
      for (const way of others.flatMap((agent) => ways(agent))) {
        expect((await way.resolve(id, allow)).told, way.by).toBe('not_in_your_chain');
        expect((await way.call({ approval_id: id })).told, way.by).toBe('not_in_your_chain');
      }
      for (const caller of [...others, mia]) {
        for (const [path, body] of [
          ['resolve', { resolution: 'deny' }],
          ['resolve', { resolution: 'bubble' }],
          ['resolve', { resolution: 'allow_always' }],
          ['cancel', undefined],
          ['call', undefined],
        ] as const) {
          const reply = await caller.post(`/v1/approvals/${id}/${path}`, body);
          expect(restAnswer(reply).told, path).toBe('not_in_your_chain');
        }
      }
      for (const way of ways(child)) {
        expect((await way.resolve(id, allow)).told, way.by).toBe('self_approval_disabled');
      }
      const above = await suspend(bot, 'above');
      for (const way of ways(child)) {
        expect((await way.resolve(above, allow)).told, way.by).toBe('not_in_your_chain');
      }
      expect((await approvalOf(id)).status).toBe('pending');
      expect((await approvalOf(above)).status).toBe('pending');
      expect((await world.admin.post(`/v1/approvals/${id}/cancel`)).status).toBe(200);
      expect(sent()).toBe(before);
    });

    test('a parent beyond its own reach', async () => {
      const { bot, child, client, world } = scene;
      const id = await suspend(child, 'beyond');
      for (const way of ways(bot, client.token)) {
        for (const decision of [allow, remember]) {
          expect((await way.resolve(id, decision)).told, way.by).toBe('exceeds_authority');
        }
      }
      expect((await approvalOf(id)).resolver_id).toBe(world.admin.id);
      expect(await told(child, 'beyond')).toBe('pending_approval');
      expect(sent()).toBe(before);
    });

    test('a parent that has lost its reach since the call was raised', async () => {
      const { bot, child, client, rule, world } = scene;
      const ruleId = await rule(bot, 'allow notes:write_note:lost');
      const id = await suspend(child, 'lost');
      expect((await approvalOf(id)).resolver_id).toBe(bot.id);
      await world.admin.delete(`/v1/rules/${ruleId}`);

      for (const way of ways(bot, client.token)) {
        expect((await way.resolve(id, allow)).told, way.by).toBe('exceeds_authority');
      }
      expect(await approvalOf(id)).toMatchObject({
        status: 'bubbled',
        resolver_id: world.admin.id,
      });
      expect(sent()).toBe(before);
    });

    test('a parent that loses its reach between its word and the call', async () => {
      const { bot, rule, world } = scene;
      const late = await createChild(world.url, bot, { name: 'late' });
      created(
        await world.admin.patch(`/v1/identities/${late.id}`, { auto_call_on_approve: false }),
      );
      const ruleId = await rule(bot, 'allow notes:write_note:between');
      const id = await suspend(late, 'between');
      const [{ resolve }] = rest(bot);
      expect((await resolve(id, allow)).told).toBe('allowed');
      await world.admin.delete(`/v1/rules/${ruleId}`);

      expect((await rest(late)[0].call({ approval_id: id })).told).toBe('approval_stale');
      expect(await told(late, 'between')).toBe('pending_approval');
      expect(sent()).toBe(before);
    });

    test('a child that inherits, with what its parent does not have', async () => {
      const { bot, world } = scene;
      const heir = await createChild(world.url, bot, { name: 'heir', inherit_permissions: true });
      expect(await told(heir, 'inherited')).toBe('pending_approval');
      expect(sent()).toBe(before);
    });
  });

  test('a service that has another’s name', async () => {
    const { agent, world } = scene;
    const { admin } = world;
    created(await admin.post('/v1/services', { template: 'notes', name: 'renamed' }));
    const keeper = await agent('keeper');
    const [way] = rest(keeper);
    const raised = await way.call(write('mine', 'renamed'));
    created(await admin.post(`/v1/approvals/${raised.body.approval_id}/resolve`, remember));
    await until(() => sent() > before, 'the replay');
    expect((await way.call(write('mine', 'renamed'))).told).toBe('called');
    const known = sent();

    for (const template of ['notes', 'shadow']) {
      expect((await admin.delete('/v1/services/renamed')).status).toBe(204);
      created(await admin.post('/v1/services', { template, name: 'renamed' }));
      expect((await way.call(write('mine', 'renamed'))).told).toBe('pending_approval');
    }
    expect(sent()).toBe(known);
  });

  test('a client that asks for the scope of a user', async () => {
    const { world, client } = scene;
    const { url, admin } = world;
    for (const id of [client.id, await registerClient(world)]) {
      for (const scope of ['user', 'mcp user']) {
        const { url: start } = authorization(url, { client_id: id, scope });
        const page = await openBrowser(url, { cookie: admin.cookie }).open(start);
        // A client that no person has let in is told nothing at all.
        if (id === client.id)
          expect(page.leavesTo?.searchParams.get('error')).toBe('invalid_scope');
        else expect([page.status, page.leavesTo]).toEqual([400, null]);
      }
    }
    const reply = await fetch(`${url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: client.refreshToken,
        client_id: client.id,
        scope: 'user',
      }),
    });
    expect(await reply.json()).toMatchObject({ error: 'invalid_scope' });
    const named = { client_name: 'action-gateway', redirect_uris: ['http://127.0.0.1/callback'] };
    const { scope = '' } = created(
      await createCaller(url, {}).post('/oauth/register', { ...named, scope: 'user' }),
    );
    expect(scope.split(' ')).not.toContain('user');
  });
});

describe('what an identity leaves behind', () => {
  test('archived, neither its credentials nor its approvals nor its children act', async () => {
    const { agent, world } = scene;
    const { admin } = world;
    const first = await agent('phoenix', 'allow notes:write_note:ash');
    created(await admin.patch(`/v1/identities/${first.id}`, { auto_call_on_approve: false }));
    const heir = await createChild(world.url, first, { name: 'heir', inherit_permissions: true });
    const [open, allowed] = [await suspend(first, 'open'), await suspend(first, 'allowed')];
    created(await admin.post(`/v1/approvals/${allowed}/resolve`, allow));
    const before = sent();
    created(await admin.post(`/v1/identities/${first.id}/archive`));

    for (const way of [...ways(first), ...ways(heir)]) {
      await until(async () => (await way.call(write('ash'))).told === 'identity_archived', way.by);
    }
    const late = await admin.post(`/v1/approvals/${open}/resolve`, allow);
    expect(restAnswer(late).told).toBe('identity_archived');
    const run = await admin.post(`/v1/approvals/${allowed}/call`);
    expect(run.body.execution, JSON.stringify(run.body.execution)).toMatchObject({
      status: 'failed',
      error: { error: 'identity_archived' },
    });
    const second = await createAgent(world.url, admin, 'phoenix');
    expect(await told(second, 'ash')).toBe('pending_approval');
    for (const id of [open, allowed]) {
      expect((await rest(second)[0].call({ approval_id: id })).told).toBe('not_in_your_chain');
    }
    expect(sent()).toBe(before);
  });

  test('by the user of it becoming an auditor, it does nothing, and what it has open waits', async () => {
    const { world } = scene;
    const { orgId } = world.admin;
    const olga = await world.person({ orgId, name: 'olga', role: 'member' });
    const hers = await createAgent(world.url, olga, 'hers');
    const child = await createChild(world.url, hers, { name: 'child' });
    created(await world.admin.patch(`/v1/identities/${hers.id}`, { auto_call_on_approve: false }));
    const note = (topic: string) => write(topic, 'org/shared');
    const [{ call }] = rest(hers);
    const ask = async (topic: string) => (await call(note(topic))).body.approval_id as string;
    const [open, allowed] = [await ask('audit-open'), await ask('audit-allowed')];
    created(await olga.post(`/v1/approvals/${allowed}/resolve`, remember));
    const before = sent();
    created(await world.admin.patch(`/v1/users/${olga.id}`, { role: 'auditor' }));

    for (const way of [...ways(hers), ...ways(child)]) {
      const refused = async () => (await way.call(note('audit'))).told === 'identity_archived';
      await until(refused, way.by);
      expect((await way.resolve(open, { resolution: 'deny' })).told).toBe('identity_archived');
      expect((await way.call({ approval_id: allowed })).told).toBe('identity_archived');
    }
    const late = await world.admin.post(`/v1/approvals/${open}/resolve`, allow);
    expect(restAnswer(late).told).toBe('identity_archived');
    expect(restAnswer(await olga.post(`/v1/approvals/${open}/resolve`, allow)).told).toBe(
      'not_in_your_chain',
    );
    const dry = await world.admin.post('/v1/actions/validate', {
      ...note('audit'),
      as_identity_id: hers.id,
    });
    expect(restAnswer(dry).told).toBe('identity_archived');
    const run = await world.admin.post(`/v1/approvals/${allowed}/call`);
    expect(run.body.execution).toMatchObject({
      status: 'failed',
      error: { error: 'identity_archived' },
    });
    expect(sent()).toBe(before);

    created(await world.admin.patch(`/v1/users/${olga.id}`, { role: 'member' }));
    await until(async () => (await call({ approval_id: open })).told !== 'identity_archived', 'it');
    created(await world.admin.post(`/v1/approvals/${open}/resolve`, allow));
    expect((await call({ approval_id: open })).told).toBe('called');
  });

  test('expired, it does not act, and who comes after it by its name begins with nothing', async () => {
    const { bot, rule, world } = scene;
    const first = await createChild(world.url, bot, { name: 'mayfly' });
    await rule(first, 'allow notes:write_note:dusk');
    const open = await suspend(first, 'dawn');
    const before = sent();
    await world.tables.query(
      "update auth.identity set expires_at = now() - interval '1 minute' where id = $1",
      [first.id],
    );
    // Written past the product, so it is seen when what is cached has run out.
    await until(async () => (await first.get('/v1/identities/me')).status === 401, 'the end');
    expect(await told(first, 'dusk')).toBe('unauthenticated');
    const reply = await world.admin.post(`/v1/approvals/${open}/resolve`, allow);
    expect(restAnswer(reply).told).toMatch(/^(already_resolved|identity_archived)$/);

    const second = await createChild(world.url, bot, { name: 'mayfly' });
    expect(await told(second, 'dusk')).toBe('pending_approval');
    expect((await rest(second)[0].call({ approval_id: open })).told).toBe('not_in_your_chain');
    expect(sent()).toBe(before);
  });
});

async function send(
  caller: Caller,
  { method, path, body }: { method: RouteSpec['method']; path: string; body?: unknown },
) {
  if (method === 'GET') return caller.get(path);
  if (method === 'DELETE') return caller.delete(path);
  if (method === 'PUT') return caller.put(path, body);
  return method === 'PATCH' ? caller.patch(path, body) : caller.post(path, body);
}
