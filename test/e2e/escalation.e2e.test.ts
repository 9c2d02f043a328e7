import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { RouteSpec } from '#contracts/http/define';
import { sampleDecisions } from '../support/decision-bodies.ts';
import { createCaller, createCallerWithKey } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import { openBrowser } from '../support/oauth-browser.ts';
import { createAuthorizationRequest } from '../support/oauth-world.ts';
import { forbiddenRequests } from './escalation/relatives.ts';
import { createChild, setScene, write } from './escalation/scene.ts';
import type { Scene } from './escalation/scene.ts';
import { restAnswer, callToolByMcp, waysOf } from './escalation/ways.ts';
import type { Way } from './escalation/ways.ts';
import { routesForUsers } from './escalation/writes.ts';
import { kindsIn, createPossessions, versionParameter } from './idor/possessions.ts';
import { registerClient } from '../support/clients.ts';
import { createAgent, successfulBodyOf, pollUntil } from '../support/world.ts';
import type { Agent } from '../support/world.ts';

const allowDecision = { resolution: 'allow' };
const rememberDecision = { resolution: 'allow_remember', ttl: '1h' };

let scene: Scene;
beforeAll(async () => {
  scene = await setScene();
});
afterAll(() => scene[Symbol.asyncDispose]());

/**
 * Counts the requests that arrived at the upstream. Webhooks are not counted, because they arrive
 * at any time.
 */
const countHits = () => scene.world.upstream.hits.filter(({ url }) => url !== '/hook').length;
const restWayOf = ({ key }: Agent) => waysOf(scene.world.url, { key }).slice(0, 1) as [Way];
const waysOfAgent = (agent: Agent, token?: string) => waysOf(scene.world.url, agent, token);
const approvalOf = async (id: string) => (await scene.world.admin.get(`/v1/approvals/${id}`)).body;
/**
 * Makes a call that is suspended, and returns the id of its approval. No other test may use the
 * topic, so that the approval belongs to this agent alone.
 */
async function suspendCall(agent: Agent, topic: string): Promise<string> {
  const [{ call }] = restWayOf(agent);
  return (await call(write(topic))).body.approval_id;
}
const outcomeOf = async (agent: Agent, topic: string) =>
  (await restWayOf(agent)[0].call(write(topic))).outcome;

/** Besides the answers, each test checks which requests arrived at the upstream. */
describe('attempts to gain rights', () => {
  let hitsBefore: number;
  let rows: Record<string, number>;
  beforeEach(async () => {
    hitsBefore = countHits();
    rows = await scene.world.tables.count();
  });

  describe('an agent that tries to change its own rules, credentials or services', () => {
    let ids: Awaited<ReturnType<typeof createPossessions>>['ids'];
    let credentials: Caller[];
    beforeAll(async () => {
      const { world, bot, child, client } = scene;
      ({ ids } = await createPossessions(world, world.admin));
      credentials = [bot.key, client.token, child.key].map((each) =>
        createCallerWithKey(world.url, each),
      );
    });

    test.for(routesForUsers.map((route) => [`${route.method} ${route.path}`, route] as const))(
      'is refused at %s',
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

    test('cannot use the MCP tool service_auth for such a change', async () => {
      const { world, bot, client } = scene;
      for (const credential of [bot.key, client.token]) {
        for (const operation of ['create_rule', 'create_service', 'create_agent', 'create_key']) {
          const { outcome: answer } = await callToolByMcp(world.url, credential, 'service_auth', {
            operation,
            name: 'planted',
          });
          expect(answer).toMatch(/^(invalid_request|invalid_params|-32602)$/);
        }
      }
      expect(await world.tables.count()).toEqual(rows);
    });
  });

  test('an agent cannot answer its own secret request, or the secret request of a related agent', async () => {
    const { world, bot, twin, child, client, theirs, mia } = scene;
    const secretRequest = {
      operation: 'request_secret',
      name: 'planted',
      allowed_hosts: ['evil.example'],
    };
    const { body } = await callToolByMcp(world.url, bot.key, 'service_auth', secretRequest);
    const path = `/v1/provide/${new URL(body.request.provide_url).pathname.split('/').at(-1)}`;
    const providedValue = { value: 'CANARY-planted', allowed_hosts: ['evil.example'] };
    for (const key of [bot.key, client.token, child.key, twin.key, theirs.key]) {
      for (const reply of [
        await createCallerWithKey(world.url, key).get(path),
        await createCallerWithKey(world.url, key).post(path, providedValue),
      ]) {
        expect([reply.status, reply.body.error]).toEqual([403, 'insufficient_scope']);
      }
    }
    // The gateway refuses a person's cookie if the request does not come from the gateway's own
    // pages.
    const { cookie } = world.admin;
    for (const headers of [{ cookie }, { cookie, origin: 'https://evil.example' }]) {
      const reply = await createCaller(world.url, headers).post(path, providedValue);
      expect([reply.status, reply.body.error]).toEqual([403, 'forbidden']);
    }
    expect((await createCaller(world.url, {}).post(path, providedValue)).status).toBe(401);
    for (const reply of [await mia.get(path), await mia.post(path, providedValue)]) {
      expect([reply.status, reply.body.error]).toEqual([404, 'not_found']);
    }
    expect((await world.admin.get(path)).body.name).toBe('planted');
    expect(await world.tables.query(`select from executor.secret where name = 'planted'`)).toEqual(
      [],
    );
  });

  test.for(
    forbiddenRequests.map((forbiddenRequest) => [forbiddenRequest.what, forbiddenRequest] as const),
  )('a request about a related identity is refused: %s', async ([, { as, request, error }]) => {
    const { world, client } = scene;
    const { key } = scene[as];
    const wantedAnswer = await request(scene);
    for (const credential of as === 'bot' ? [key, client.token] : [key]) {
      const reply = await send(createCallerWithKey(world.url, credential), wantedAnswer);
      expect(reply.body.error, JSON.stringify(reply.body)).toBe(error);
    }
    expect(await world.tables.count()).toEqual(rows);
  });

  describe('a decision on an approval', () => {
    test('is refused to related agents that are no ancestors, to strangers, and to the requester itself', async () => {
      const { world, child, sibling, grandchild, placed, twin, nephew, theirs, mia, bot } = scene;
      const id = await suspendCall(child, 'relatives');
      const others = [sibling, grandchild, placed, twin, nephew, theirs];
      for (const way of others.flatMap((agent) => waysOfAgent(agent))) {
        expect((await way.resolve(id, allowDecision)).outcome, way.by).toBe('not_in_your_chain');
        expect((await way.call({ approval_id: id })).outcome, way.by).toBe('not_in_your_chain');
      }
      for (const caller of [...others, mia]) {
        for (const [path, body] of [
          ...Object.values(sampleDecisions).map((body) => ['resolve', body] as const),
          ['cancel', undefined],
          ['call', undefined],
        ] as const) {
          const reply = await caller.post(`/v1/approvals/${id}/${path}`, body);
          expect(restAnswer(reply).outcome, path).toBe('not_in_your_chain');
        }
      }
      for (const way of waysOfAgent(child)) {
        expect((await way.resolve(id, allowDecision)).outcome, way.by).toBe(
          'self_approval_disabled',
        );
      }
      const approvalOfParent = await suspendCall(bot, 'above');
      for (const way of waysOfAgent(child)) {
        expect((await way.resolve(approvalOfParent, allowDecision)).outcome, way.by).toBe(
          'not_in_your_chain',
        );
      }
      expect((await approvalOf(id)).status).toBe('pending');
      expect((await approvalOf(approvalOfParent)).status).toBe('pending');
      expect((await world.admin.post(`/v1/approvals/${id}/cancel`)).status).toBe(200);
      expect(countHits()).toBe(hitsBefore);
    });

    test('is refused to a parent that does not have the permission itself', async () => {
      const { bot, child, client, world } = scene;
      const id = await suspendCall(child, 'beyond');
      for (const way of waysOfAgent(bot, client.token)) {
        for (const decision of [allowDecision, rememberDecision]) {
          expect((await way.resolve(id, decision)).outcome, way.by).toBe('exceeds_authority');
        }
      }
      expect((await approvalOf(id)).resolver_id).toBe(world.admin.id);
      expect(await outcomeOf(child, 'beyond')).toBe('pending_approval');
      expect(countHits()).toBe(hitsBefore);
    });

    test('is refused to a parent that has lost the permission after its child made the call', async () => {
      const { bot, child, client, addRule: rule, world } = scene;
      const ruleId = await rule(bot, 'allow notes:write_note:lost');
      const id = await suspendCall(child, 'lost');
      expect((await approvalOf(id)).resolver_id).toBe(bot.id);
      await world.admin.delete(`/v1/rules/${ruleId}`);

      for (const way of waysOfAgent(bot, client.token)) {
        expect((await way.resolve(id, allowDecision)).outcome, way.by).toBe('exceeds_authority');
      }
      expect(await approvalOf(id)).toMatchObject({
        status: 'bubbled',
        resolver_id: world.admin.id,
      });
      expect(countHits()).toBe(hitsBefore);
    });

    test('has no effect if the parent loses the permission between its decision and the call', async () => {
      const { bot, addRule: rule, world } = scene;
      const lateChild = await createChild(world.url, bot, { name: 'late' });
      successfulBodyOf(
        await world.admin.patch(`/v1/identities/${lateChild.id}`, { auto_call_on_approve: false }),
      );
      const ruleId = await rule(bot, 'allow notes:write_note:between');
      const id = await suspendCall(lateChild, 'between');
      const [{ resolve }] = restWayOf(bot);
      expect((await resolve(id, allowDecision)).outcome).toBe('allowed');
      await world.admin.delete(`/v1/rules/${ruleId}`);

      expect((await restWayOf(lateChild)[0].call({ approval_id: id })).outcome).toBe(
        'approval_stale',
      );
      expect(await outcomeOf(lateChild, 'between')).toBe('pending_approval');
      expect(countHits()).toBe(hitsBefore);
    });

    test('is still needed by a child that inherits from a parent without the permission', async () => {
      const { bot, world } = scene;
      const inheritingChild = await createChild(world.url, bot, {
        name: 'heir',
        inherit_permissions: true,
      });
      expect(await outcomeOf(inheritingChild, 'inherited')).toBe('pending_approval');
      expect(countHits()).toBe(hitsBefore);
    });
  });

  test('a new service does not get the permission that was remembered for an earlier service of the same name', async () => {
    const { agent, world } = scene;
    const { admin } = world;
    successfulBodyOf(await admin.post('/v1/services', { template: 'notes', name: 'renamed' }));
    const keeper = await agent('keeper');
    const [way] = restWayOf(keeper);
    const raised = await way.call(write('mine', 'renamed'));
    successfulBodyOf(
      await admin.post(`/v1/approvals/${raised.body.approval_id}/resolve`, rememberDecision),
    );
    await pollUntil(() => countHits() > hitsBefore, 'the replay');
    expect((await way.call(write('mine', 'renamed'))).outcome).toBe('called');

    for (const template of ['notes', 'shadow']) {
      let lastOutcome: string | undefined;
      const call = async () => (lastOutcome = (await way.call(write('mine', 'renamed'))).outcome);
      expect((await admin.delete('/v1/services/renamed')).status).toBe(204);
      // Policy may answer from a cache for a second, until the event of the change arrives.
      await pollUntil(
        async () => (await call()) === 'unknown_service',
        'the end of the old service',
      );
      const hitsSoFar = countHits();
      successfulBodyOf(await admin.post('/v1/services', { template, name: 'renamed' }));
      await pollUntil(async () => (await call()) !== 'unknown_service', 'the new service');
      expect(lastOutcome).toBe('pending_approval');
      expect(countHits()).toBe(hitsSoFar);
    }
  });

  test('an OAuth client does not get the scope of a user', async () => {
    const { world, client } = scene;
    const { url, admin } = world;
    for (const id of [client.id, await registerClient(world)]) {
      for (const scope of ['user', 'mcp user']) {
        const { url: start } = createAuthorizationRequest(url, { client_id: id, scope });
        const page = await openBrowser(url, { cookie: admin.cookie }).open(start);
        // The gateway redirects with an error only to a client that a person has allowed before.
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
    const { scope = '' } = successfulBodyOf(
      await createCaller(url, {}).post('/oauth/register', { ...named, scope: 'user' }),
    );
    expect(scope.split(' ')).not.toContain('user');
  });
});

describe('an identity that has lost its rights', () => {
  test('can do nothing once archived, neither with its credentials nor through its approvals or children', async () => {
    const { agent, world } = scene;
    const { admin } = world;
    const first = await agent('phoenix', 'allow notes:write_note:ash');
    successfulBodyOf(
      await admin.patch(`/v1/identities/${first.id}`, { auto_call_on_approve: false }),
    );
    const inheritingChild = await createChild(world.url, first, {
      name: 'heir',
      inherit_permissions: true,
    });
    const [openApproval, allowedApproval] = [
      await suspendCall(first, 'open'),
      await suspendCall(first, 'allowed'),
    ];
    successfulBodyOf(await admin.post(`/v1/approvals/${allowedApproval}/resolve`, allowDecision));
    const hitsBefore = countHits();
    successfulBodyOf(await admin.post(`/v1/identities/${first.id}/archive`));

    for (const way of [...waysOfAgent(first), ...waysOfAgent(inheritingChild)]) {
      await pollUntil(
        async () => (await way.call(write('ash'))).outcome === 'identity_archived',
        way.by,
      );
    }
    const lateReply = await admin.post(`/v1/approvals/${openApproval}/resolve`, allowDecision);
    expect(restAnswer(lateReply).outcome).toBe('identity_archived');
    const executionReply = await admin.post(`/v1/approvals/${allowedApproval}/call`);
    expect(
      executionReply.body.execution,
      JSON.stringify(executionReply.body.execution),
    ).toMatchObject({
      status: 'failed',
      error: { error: 'identity_archived' },
    });
    const second = await createAgent(world.url, admin, 'phoenix');
    expect(await outcomeOf(second, 'ash')).toBe('pending_approval');
    for (const id of [openApproval, allowedApproval]) {
      expect((await restWayOf(second)[0].call({ approval_id: id })).outcome).toBe(
        'not_in_your_chain',
      );
    }
    expect(countHits()).toBe(hitsBefore);
  });

  test('can do nothing while its user is an auditor; its open approvals wait meanwhile', async () => {
    const { world } = scene;
    const { orgId } = world.admin;
    const olga = await world.person({ orgId, name: 'olga', role: 'member' });
    const agentOfOlga = await createAgent(world.url, olga, 'hers');
    const child = await createChild(world.url, agentOfOlga, { name: 'child' });
    successfulBodyOf(
      await world.admin.patch(`/v1/identities/${agentOfOlga.id}`, { auto_call_on_approve: false }),
    );
    const createSharedNoteCall = (topic: string) => write(topic, 'org/shared');
    const [{ call }] = restWayOf(agentOfOlga);
    const askForApproval = async (topic: string) =>
      (await call(createSharedNoteCall(topic))).body.approval_id as string;
    const [openApproval, allowedApproval] = [
      await askForApproval('audit-open'),
      await askForApproval('audit-allowed'),
    ];
    successfulBodyOf(await olga.post(`/v1/approvals/${allowedApproval}/resolve`, rememberDecision));
    const hitsBefore = countHits();
    successfulBodyOf(await world.admin.patch(`/v1/users/${olga.id}`, { role: 'auditor' }));

    for (const way of [...waysOfAgent(agentOfOlga), ...waysOfAgent(child)]) {
      const isRefused = async () =>
        (await way.call(createSharedNoteCall('audit'))).outcome === 'identity_archived';
      await pollUntil(isRefused, way.by);
      expect((await way.resolve(openApproval, { resolution: 'deny' })).outcome).toBe(
        'identity_archived',
      );
      expect((await way.call({ approval_id: allowedApproval })).outcome).toBe('identity_archived');
    }
    const lateReply = await world.admin.post(
      `/v1/approvals/${openApproval}/resolve`,
      allowDecision,
    );
    expect(restAnswer(lateReply).outcome).toBe('identity_archived');
    expect(
      restAnswer(await olga.post(`/v1/approvals/${openApproval}/resolve`, allowDecision)).outcome,
    ).toBe('not_in_your_chain');
    const dryRunReply = await world.admin.post('/v1/actions/validate', {
      ...createSharedNoteCall('audit'),
      as_identity_id: agentOfOlga.id,
    });
    expect(restAnswer(dryRunReply).outcome).toBe('identity_archived');
    const executionReply = await world.admin.post(`/v1/approvals/${allowedApproval}/call`);
    expect(executionReply.body.execution).toMatchObject({
      status: 'failed',
      error: { error: 'identity_archived' },
    });
    expect(countHits()).toBe(hitsBefore);

    successfulBodyOf(await world.admin.patch(`/v1/users/${olga.id}`, { role: 'member' }));
    await pollUntil(
      async () => (await call({ approval_id: openApproval })).outcome !== 'identity_archived',
      'it',
    );
    // Only policy answers a dry run. It will be asked again when the allowed call is made, so the
    // test waits until policy has learned of the change.
    await pollUntil(async () => {
      const reply = await world.admin.post('/v1/actions/validate', {
        ...createSharedNoteCall('audit'),
        as_identity_id: agentOfOlga.id,
      });
      return restAnswer(reply).outcome !== 'identity_archived';
    }, 'the agent works for policy');
    successfulBodyOf(
      await world.admin.post(`/v1/approvals/${openApproval}/resolve`, allowDecision),
    );
    expect((await call({ approval_id: openApproval })).outcome).toBe('called');
  });

  test('can do nothing once expired, and a new agent with its name gets none of its rights', async () => {
    const { bot, addRule: rule, world } = scene;
    const first = await createChild(world.url, bot, { name: 'mayfly' });
    await rule(first, 'allow notes:write_note:dusk');
    const openApproval = await suspendCall(first, 'dawn');
    const hitsBefore = countHits();
    await world.tables.query(
      "update auth.identity set expires_at = now() - interval '1 minute' where id = $1",
      [first.id],
    );
    // The test has changed the database directly, so components use cached lookups until these have
    // expired.
    await pollUntil(async () => (await first.get('/v1/identities/me')).status === 401, 'the end');
    expect(await outcomeOf(first, 'dusk')).toBe('unauthenticated');
    const reply = await world.admin.post(`/v1/approvals/${openApproval}/resolve`, allowDecision);
    expect(restAnswer(reply).outcome).toMatch(/^(already_resolved|identity_archived)$/);

    const second = await createChild(world.url, bot, { name: 'mayfly' });
    expect(await outcomeOf(second, 'dusk')).toBe('pending_approval');
    expect((await restWayOf(second)[0].call({ approval_id: openApproval })).outcome).toBe(
      'not_in_your_chain',
    );
    expect(countHits()).toBe(hitsBefore);
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
