import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { loadConfig } from '#config';
import { approvalsConfig } from '../../approvals/config.ts';
import { startApprovals } from '../../approvals/start.ts';
import { executorConfig } from '../../executor/config.ts';
import { startExecutor } from '../../executor/start.ts';
import { gatewayConfig } from '../../gateway/config.ts';
import { startGateway } from '../../gateway/start.ts';
import { policyConfig } from '../../policy/config.ts';
import { startPolicy } from '../../policy/start.ts';
import { withKey } from '../support/http.ts';
import type { Reply } from '../support/http.ts';
import { createChild } from './escalation/scene.ts';
import { freePort } from './support/port.ts';
import { createAgent, created, startWorld, until } from './support/world.ts';
import type { Agent, World } from './support/world.ts';

/** Calls of each requester; a flood of ten thousand ends the same way (docs/reference/approvals.md#repeated-calls). */
const floodCalls = Number(process.env['FLOOD_CALLS'] ?? 60);
const atOnce = 20;

/** Two replicas of everything that a suspended call passes; whichever takes a request, it is one call. */
describe('over two replicas, a suspended call', () => {
  const stack = new AsyncDisposableStack();
  let world: World;
  let urls: readonly [string, string];

  beforeAll(async () => {
    world = stack.use(await startWorld());
    const { environment } = world;
    stack.use(await startPolicy(loadConfig(policyConfig, environment)));
    stack.use(await startExecutor(loadConfig(executorConfig, environment)));
    stack.use(await startApprovals(loadConfig(approvalsConfig, environment)));
    const settings = { ...environment, PORT: String(await freePort()) };
    const second = stack.use(await startGateway(loadConfig(gatewayConfig, settings)));
    urls = [world.url, second.url];
  });
  afterAll(() => stack.disposeAsync());

  const target = (path: string) => ({
    service: 'http',
    method: 'POST',
    url: world.upstream.url + path,
  });
  const sentTo = (path: string) => world.upstream.hits.filter(({ url }) => url === path).length;
  /** By turns at each gateway. */
  const call = (
    { key }: Pick<Agent, 'key'>,
    path: string,
    { at = 0, ...headers }: { at?: number } & Record<string, string | number> = {},
  ): Promise<Reply> =>
    withKey(urls[at % 2] as string, key).post(
      '/v1/actions/call',
      target(path),
      headers as Record<string, string>,
    );
  const many = (agent: Agent, path: string, headers: Record<string, string>) =>
    Promise.all(Array.from({ length: atOnce }, (_, at) => call(agent, path, { at, ...headers })));
  const resolve = (id: string, decision: object) =>
    world.admin.post(`/v1/approvals/${id}/resolve`, decision);

  test('to an address that can never be reached is refused before a person is asked', async () => {
    const agent = await createAgent(world.url, world.admin, 'probing');
    const calls = withKey(world.url, agent.key);
    for (const url of [
      'http://169.254.169.254/latest',
      'https://[fd00:ec2::254]/latest',
      'https://10.0.0.1/',
      'https://localhost/',
      'https://metadata.localhost:8443/',
      'http://api.example.com/',
      world.url,
    ]) {
      const target = { service: 'http', method: 'GET', url };
      const called = await calls.post('/v1/actions/call', target);
      expect([called.status, called.body.error], url).toEqual([502, 'upstream_refused_address']);
      const asked = await calls.post('/v1/actions/validate', target);
      expect(asked.body.error, url).toBe('upstream_refused_address');
    }
    expect(created(await calls.get('/v1/approvals')).items).toEqual([]);
    // What can be reached is still a question for a person.
    const allowed = { service: 'http', method: 'GET', url: 'https://api.example.com/' };
    expect((await calls.post('/v1/actions/call', allowed)).status).toBe(202);
  });

  test('with an idempotency key is one approval, one call and one answer, remembered or not', async () => {
    const agent = await createAgent(world.url, world.admin, 'once');
    const key = { 'idempotency-key': 'pay-once' };
    const raised = await many(agent, '/pay', key);
    expect(raised.map(({ status }) => status)).toEqual(Array(atOnce).fill(202));
    const ids = new Set(raised.map(({ body }) => body.approval_id));
    expect(ids.size).toBe(1);
    const [id] = ids;
    expect((await call(agent, '/other', key)).body.error).toBe('idempotency_key_reused');

    // Allowed while the same call keeps coming: by then a rule allows it too.
    const decision = { resolution: 'allow_remember', ttl: '1h' };
    const [decided, ...during] = await Promise.all([
      resolve(id, decision),
      many(agent, '/pay', key),
      many(agent, '/pay', key),
    ]);
    expect(decided.status).toBe(200);
    for (const { status, body } of during.flat()) {
      expect([200, 202, 409], JSON.stringify(body)).toContain(status);
      if (status === 202) expect(body.approval_id).toBe(id);
      if (status === 409) expect(body.error).toBe('execution_in_progress');
    }

    const isCalled = async () => (await call(agent, '/pay', key)).body.status === 'called';
    await until(isCalled, 'the replay');
    const after = await many(agent, '/pay', key);
    expect(new Set(after.map(({ body }) => body.audit_id)).size).toBe(1);
    expect(sentTo('/pay')).toBe(1);

    // The rule is there for calls of their own, and gone it changes nothing of the first answer.
    expect((await call(agent, '/pay', { at: 1 })).body.status).toBe('called');
    expect(sentTo('/pay')).toBe(2);
    const { items } = created(await world.admin.get(`/v1/rules?approval_id=${id}`));
    for (const rule of items) await world.admin.delete(`/v1/rules/${rule.id}`);
    expect((await call(agent, '/pay', key)).body.audit_id).toBe(after[0]?.body.audit_id);
    expect((await call(agent, '/pay', { at: 1 })).status).toBe(202);
    expect(sentTo('/pay')).toBe(2);
  });

  test('with an idempotency key stays denied', async () => {
    const agent = await createAgent(world.url, world.admin, 'denied');
    const key = { 'idempotency-key': 'never' };
    const { body } = await call(agent, '/never', key);
    created(await resolve(body.approval_id, { resolution: 'deny', reason: 'No.' }));

    for (const reply of await many(agent, '/never', key)) {
      expect(reply.body).toMatchObject({ status: 'denied', reason: 'No.' });
    }
    expect(sentTo('/never')).toBe(0);
  });

  test.for([
    ['allow', { status: 'called', result: { status_code: 201 } }],
    ['deny', { status: 'denied' }],
  ] as const)(
    'that waits as its caller prefers ends with the decision to %s, taken elsewhere',
    async ([resolution, answer]) => {
      const agent = await createAgent(world.url, world.admin, `waits-to-${resolution}`);
      const path = `/wait/${resolution}`;
      const waiting = call(agent, path, { at: 1, prefer: 'wait=50' });
      const open = () => world.admin.get(`/v1/approvals?status=open&requester=${agent.id}`);
      await until(async () => (await open()).body.items.length === 1, 'the approval');
      const [{ id }] = (await open()).body.items;
      created(await resolve(id, { resolution }));

      const { status, body } = await waiting;
      expect(status).toBe(200);
      expect(body).toMatchObject(answer);
      expect(sentTo(path)).toBe(resolution === 'allow' ? 1 : 0);
    },
  );

  test('that nobody decides in time is answered with its envelope', async () => {
    const agent = await createAgent(world.url, world.admin, 'patient');
    const { status, body } = await call(agent, '/patient', { prefer: 'wait=1' });
    expect([status, body.status]).toEqual([202, 'pending_approval']);
  });

  test('too many of them are refused: of one requester, and of all in the subtree of an agent', async () => {
    const agent = await createAgent(world.url, world.admin, 'flood');
    const children: Agent[] = [];
    for (const name of ['one', 'two', 'three']) {
      children.push(await createChild(world.url, agent, { name }));
    }
    const open: number[] = [];
    for (const [by, requester] of [agent, ...children].entries()) {
      let raised = 0;
      for (let first = 0; first < floodCalls; first += atOnce) {
        const replies = await Promise.all(
          Array.from({ length: atOnce }, (_, at) =>
            call(requester, `/flood/${by}/${first + at}`, { at }),
          ),
        );
        raised += replies.filter(({ status }) => status === 202).length;
        for (const { status, headers, body } of replies) {
          if (status === 202) continue;
          expect(status, JSON.stringify(body)).toBe(429);
          expect(body).toMatchObject({
            error: 'too_many_open_approvals',
            retry_after: 60,
            open_max: 20,
            open_in_subtree_max: 50,
          });
          expect(headers.get('retry-after')).toBe('60');
        }
      }
      open.push(raised);
    }
    expect(open).toEqual([20, 20, 10, 0]);
    // What is refused leaves nothing behind, and reads are none of it.
    const listed = created(await world.admin.get('/v1/approvals?status=open&limit=200'));
    const requesters = new Set([agent.id, ...children.map(({ id }) => id)]);
    const theirs = listed.items.filter((each: { requester: { id: string } }) =>
      requesters.has(each.requester.id),
    );
    expect(theirs).toHaveLength(50);
    expect((await withKey(urls[1], agent.key).get('/v1/identities/me')).status).toBe(200);
  });
});
