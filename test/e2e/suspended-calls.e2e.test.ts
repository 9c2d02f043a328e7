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
import { createCallerWithKey } from '../support/http.ts';
import type { Reply } from '../support/http.ts';
import { createChild } from './escalation/scene.ts';
import { lastingPort } from '../../services-src/embedded/index.ts';
import { createAgent, successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

/**
 * The number of calls of each requester. Ten thousand calls give the same result
 * (docs/reference/approvals.md#repeated-calls).
 */
const floodCalls = Number(process.env['FLOOD_CALLS'] ?? 60);
const callsAtOnce = 20;

/**
 * Every component that handles a suspended call has two replicas. Whichever replica handles a
 * request, the call must stay one call.
 */
describe('a suspended call, with two replicas of each component', () => {
  const stack = new AsyncDisposableStack();
  let world: World;
  let urls: readonly [string, string];

  beforeAll(async () => {
    world = stack.use(await startWorld());
    const { environment } = world;
    stack.use(await startPolicy(loadConfig(policyConfig, environment)));
    stack.use(await startExecutor(loadConfig(executorConfig, environment)));
    stack.use(await startApprovals(loadConfig(approvalsConfig, environment)));
    const settings = { ...environment, PORT: String(await lastingPort()) };
    const second = stack.use(await startGateway(loadConfig(gatewayConfig, settings)));
    urls = [world.url, second.url];
  });
  afterAll(() => stack.disposeAsync());

  const target = (path: string) => ({
    service: 'http',
    method: 'POST',
    url: world.upstream.url + path,
  });
  const countHitsAt = (path: string) =>
    world.upstream.hits.filter(({ url }) => url === path).length;
  /**
   * Sends the call to one of the two gateways: an even `at` means the first, an odd `at` the
   * second.
   */
  const call = (
    { key }: Pick<Agent, 'key'>,
    path: string,
    { at = 0, ...headers }: { at?: number } & Record<string, string | number> = {},
  ): Promise<Reply> =>
    createCallerWithKey(urls[at % 2] as string, key).post(
      '/v1/actions/call',
      target(path),
      headers as Record<string, string>,
    );
  const callManyTimes = (agent: Agent, path: string, headers: Record<string, string>) =>
    Promise.all(
      Array.from({ length: callsAtOnce }, (_, at) => call(agent, path, { at, ...headers })),
    );
  const resolveApproval = (id: string, decision: object) =>
    world.admin.post(`/v1/approvals/${id}/resolve`, decision);

  test('is refused before a person is asked, if its address can never be reached', async () => {
    const agent = await createAgent(world.url, world.admin, 'probing');
    const agentCaller = createCallerWithKey(world.url, agent.key);
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
      const called = await agentCaller.post('/v1/actions/call', target);
      expect([called.status, called.body.error], url).toEqual([502, 'upstream_refused_address']);
      const dryRunAnswer = await agentCaller.post('/v1/actions/validate', target);
      expect(dryRunAnswer.body.error, url).toBe('upstream_refused_address');
    }
    expect(successfulBodyOf(await agentCaller.get('/v1/approvals')).items).toEqual([]);
    // A call to a public address is not refused, and waits for a person's approval.
    const publicCall = { service: 'http', method: 'GET', url: 'https://api.example.com/' };
    expect((await agentCaller.post('/v1/actions/call', publicCall)).status).toBe(202);
  });

  test('has one approval, one execution and one answer per idempotency key, whether or not the permission is remembered', async () => {
    const agent = await createAgent(world.url, world.admin, 'once');
    const key = { 'idempotency-key': 'pay-once' };
    const raised = await callManyTimes(agent, '/pay', key);
    expect(raised.map(({ status }) => status)).toEqual(Array(callsAtOnce).fill(202));
    const ids = new Set(raised.map(({ body }) => body.approval_id));
    expect(ids.size).toBe(1);
    const [id] = ids;
    expect((await call(agent, '/other', key)).body.error).toBe('idempotency_key_reused');

    // A person allows and remembers the call while the requester keeps repeating it, so a new rule
    // also allows the repeated calls.
    const decision = { resolution: 'allow_remember', ttl: '1h' };
    const [decided, ...during] = await Promise.all([
      resolveApproval(id, decision),
      callManyTimes(agent, '/pay', key),
      callManyTimes(agent, '/pay', key),
    ]);
    expect(decided.status).toBe(200);
    for (const { status, body } of during.flat()) {
      expect([200, 202, 409], JSON.stringify(body)).toContain(status);
      if (status === 202) expect(body.approval_id).toBe(id);
      if (status === 409) expect(body.error).toBe('execution_in_progress');
    }

    const isCalled = async () => (await call(agent, '/pay', key)).body.status === 'called';
    await pollUntil(isCalled, 'the replay');
    const repliesAfter = await callManyTimes(agent, '/pay', key);
    expect(new Set(repliesAfter.map(({ body }) => body.audit_id)).size).toBe(1);
    expect(countHitsAt('/pay')).toBe(1);

    // The new rule allows further calls. Deleting the rule does not change the answer to a request
    // that repeats the idempotency key.
    expect((await call(agent, '/pay', { at: 1 })).body.status).toBe('called');
    expect(countHitsAt('/pay')).toBe(2);
    const { items } = successfulBodyOf(await world.admin.get(`/v1/rules?approval_id=${id}`));
    for (const rule of items) await world.admin.delete(`/v1/rules/${rule.id}`);
    expect((await call(agent, '/pay', key)).body.audit_id).toBe(repliesAfter[0]?.body.audit_id);
    expect((await call(agent, '/pay', { at: 1 })).status).toBe(202);
    expect(countHitsAt('/pay')).toBe(2);
  });

  test('has one execution and one answer for each idempotency key that joins its open approval', async () => {
    const agent = await createAgent(world.url, world.admin, 'joins');
    const keys = [{ 'idempotency-key': 'first' }, { 'idempotency-key': 'second' }];
    const callWithKeys = () =>
      Promise.all(keys.map((key, at) => call(agent, '/join', { at, ...key })));
    const [pending, ...joined] = (
      await Promise.all([
        call(agent, '/join').then((reply) => [reply]),
        callWithKeys(),
        callWithKeys(),
        callWithKeys(),
      ])
    ).flat();
    expect(pending?.status).toBe(202);
    const approvalId = pending?.body.approval_id;
    expect(joined.map(({ body }) => body.approval_id)).toEqual(joined.map(() => approvalId));

    // The remembered rule allows new calls, so only the keys keep the repetitions from being made.
    successfulBodyOf(
      await resolveApproval(approvalId, { resolution: 'allow_remember', ttl: '1h' }),
    );
    const isCalled = async () =>
      (await callWithKeys()).every(({ body }) => body.status === 'called');
    await pollUntil(isCalled, 'the answers to the joined calls');
    expect(countHitsAt('/join')).toBe(1);
    expect((await call(agent, '/join')).body.status).toBe('called');
    expect(countHitsAt('/join')).toBe(2);
  });

  test('stays denied when it is repeated with its idempotency key', async () => {
    const agent = await createAgent(world.url, world.admin, 'denied');
    const key = { 'idempotency-key': 'never' };
    const { body } = await call(agent, '/never', key);
    successfulBodyOf(
      await resolveApproval(body.approval_id, { resolution: 'deny', reason: 'No.' }),
    );

    for (const reply of await callManyTimes(agent, '/never', key)) {
      expect(reply.body).toMatchObject({ status: 'denied', reason: 'No.' });
    }
    expect(countHitsAt('/never')).toBe(0);
  });

  test.for([
    ['allow', { status: 'called', result: { status_code: 201 } }],
    ['deny', { status: 'denied' }],
  ] as const)(
    'is answered after the decision “%s” at another gateway, if it has the header Prefer: wait',
    async ([resolution, answer]) => {
      const agent = await createAgent(world.url, world.admin, `waits-to-${resolution}`);
      const path = `/wait/${resolution}`;
      const waitingCall = call(agent, path, { at: 1, prefer: 'wait=50' });
      const listOpenApprovals = () =>
        world.admin.get(`/v1/approvals?status=open&requester=${agent.id}`);
      await pollUntil(
        async () => (await listOpenApprovals()).body.items.length === 1,
        'the approval',
      );
      const [{ id }] = (await listOpenApprovals()).body.items;
      successfulBodyOf(await resolveApproval(id, { resolution }));

      const { status, body } = await waitingCall;
      expect(status).toBe(200);
      expect(body).toMatchObject(answer);
      expect(countHitsAt(path)).toBe(resolution === 'allow' ? 1 : 0);
    },
  );

  test('is answered as pending when nobody decides in time, if it has the header Prefer: wait', async () => {
    const agent = await createAgent(world.url, world.admin, 'patient');
    const { status, body } = await call(agent, '/patient', { prefer: 'wait=1' });
    expect([status, body.status]).toEqual([202, 'pending_approval']);
  });

  test('is refused beyond the limit on open approvals of its requester, or of an agent’s subtree', async () => {
    const agent = await createAgent(world.url, world.admin, 'flood');
    const children: Agent[] = [];
    for (const name of ['one', 'two', 'three']) {
      children.push(await createChild(world.url, agent, { name }));
    }
    const raisedCounts: number[] = [];
    for (const [by, requester] of [agent, ...children].entries()) {
      let raised = 0;
      for (let first = 0; first < floodCalls; first += callsAtOnce) {
        const replies = await Promise.all(
          Array.from({ length: callsAtOnce }, (_, at) =>
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
      raisedCounts.push(raised);
    }
    expect(raisedCounts).toEqual([20, 20, 10, 0]);
    // A refused call creates no approval, and reads do not count towards the limit.
    const listedApprovals = successfulBodyOf(
      await world.admin.get('/v1/approvals?status=open&limit=200'),
    );
    const requesters = new Set([agent.id, ...children.map(({ id }) => id)]);
    const approvalsOfOther = listedApprovals.items.filter((each: { requester: { id: string } }) =>
      requesters.has(each.requester.id),
    );
    expect(approvalsOfOther).toHaveLength(50);
    expect((await createCallerWithKey(urls[1], agent.key).get('/v1/identities/me')).status).toBe(
      200,
    );
  });
});
