import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { loadConfig } from '#config';
import { gatewayConfig } from '../../gateway/config.ts';
import { startGateway } from '../../gateway/start.ts';
import type { RunningGateway } from '../../gateway/start.ts';
import { createCaller, createCallerWithKey } from '../support/http.ts';
import { signInClient } from '../support/clients.ts';
import { lastingPort } from '../../services-src/embedded/index.ts';
import { createAgent, successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

/**
 * Two gateways of one deployment: a change that is made at one of them must apply at the other one
 * too.
 */
describe('changes of identities apply on every gateway', () => {
  let world: World;
  let secondGateway: RunningGateway;
  let gateways: string[];
  let familyCount = 0;
  beforeAll(async () => {
    world = await startWorld({ RATE_REGISTER_PER_HOUR: '0' });
    secondGateway = await startGateway(
      loadConfig(gatewayConfig, { ...world.environment, PORT: String(await lastingPort()) }),
    );
    gateways = [world.url, secondGateway.url];
  });
  afterAll(async () => {
    await secondGateway[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

  /**
   * Creates an agent of the admin, a subagent of the agent and a subagent of the subagent, each
   * with a key; an OAuth client acts as the agent.
   */
  async function createFamily(): Promise<Agent[]> {
    const bot = await createAgent(world.url, world.admin, `bot${(familyCount += 1)}`);
    const sub = await createChild(bot, 'sub');
    const { token } = await signInClient(world, bot);
    const agentByClient = { ...bot, key: token, ...createCallerWithKey(world.url, token) };
    return [agentByClient, sub, await createChild(sub, 'subsub')];
  }

  async function createChild(parent: Agent, name: string): Promise<Agent> {
    const { id } = successfulBodyOf(await parent.post('/v1/identities/subagents', { name }));
    const { key } = successfulBodyOf(
      await parent.post(`/v1/identities/${id}/keys`, { name: 'test' }),
    );
    return { id, key, ...createCallerWithKey(world.url, key) };
  }

  const createCallTo = (path: string) => ({
    service: 'http',
    method: 'POST',
    url: world.upstream.url + path,
  });
  /** Makes one call with each agent's key at each gateway, and returns the answers. */
  const callWithEach = async (family: readonly Agent[]): Promise<string[]> => {
    const callers = gateways.flatMap((url) =>
      family.map(({ key }) => createCallerWithKey(url, key)),
    );
    const replies = await Promise.all(
      callers.map((caller) =>
        caller.post('/v1/actions/call', createCallTo(`/knock${familyCount}`)),
      ),
    );
    return replies.map(({ status, body }) => body.error ?? body.status ?? String(status));
  };
  const areAllEqualTo = (answers: string[], answer: string) =>
    answers.every((each) => each === answer);
  const untilAllAnswer = async (family: readonly Agent[], answer: string) => {
    await pollUntil(async () => areAllEqualTo(await callWithEach(family), answer), answer);
    // Once one round has the expected answer, every later round must have it too.
    for (let round = 0; round < 5; round += 1) {
      expect(new Set(await callWithEach(family))).toEqual(new Set([answer]));
    }
  };
  const allowEverything = ({ id }: Agent) =>
    world.admin
      .post('/v1/rules', {
        identity_id: id,
        effect: 'allow',
        pattern: `http:POST:${world.upstream.host}/**`,
      })
      .then(successfulBodyOf);
  const setIdentityStatus = ({ id }: Agent, verb: string) =>
    world.admin.post(`/v1/identities/${id}/${verb}`).then(successfulBodyOf);

  test('the subtree of an archived agent stops, and continues once the agent is restored', async () => {
    const family = await createFamily();
    for (const each of family) await allowEverything(each);
    await untilAllAnswer(family, 'called');

    await setIdentityStatus(family[0] as Agent, 'archive');
    await untilAllAnswer(family, 'identity_archived');
    const hitCount = world.upstream.hits.length;
    expect(new Set(await callWithEach(family))).toEqual(new Set(['identity_archived']));
    expect(world.upstream.hits.length).toBe(hitCount);

    await setIdentityStatus(family[0] as Agent, 'restore');
    await untilAllAnswer(family, 'called');
  });

  test('the subtree of a revoked agent stops for good, and its open approvals are denied', async () => {
    const family = await createFamily();
    const [bot, sub] = family as [Agent, Agent];
    const { approval_id: openApprovalId } = successfulBodyOf(
      await sub.post('/v1/actions/call', createCallTo('/waits')),
    );
    for (const each of family) await allowEverything(each);
    await untilAllAnswer(family, 'called');

    await setIdentityStatus(bot, 'revoke');
    await untilAllAnswer(family, 'unauthenticated');
    await pollUntil(
      async () =>
        (await world.admin.get(`/v1/approvals/${openApprovalId}`)).body.reason ===
        'requester_revoked',
      'the denial',
    );
    expect((await world.admin.post(`/v1/identities/${bot.id}/restore`)).status).toBe(409);
  });

  test('an agent stops when it expires, and its open approvals are denied', async () => {
    const family = await createFamily();
    const [bot, sub] = family as [Agent, Agent];
    const { approval_id: openApprovalId } = successfulBodyOf(
      await sub.post('/v1/actions/call', createCallTo('/waits')),
    );
    for (const each of family) await allowEverything(each);
    await untilAllAnswer(family, 'called');

    const expiresAt = new Date(Date.now() + 1_500).toISOString();
    successfulBodyOf(
      await world.admin.patch(`/v1/identities/${bot.id}`, { expires_at: expiresAt }),
    );
    await untilAllAnswer(family, 'unauthenticated');
    // Approvals checks once a minute whether each requester has ended; the test backdates the last
    // check.
    await pollUntil(async () => {
      await world.tables.query(
        `update approvals.approval set chain_checked_at = now() - interval '2 minutes' where id = $1`,
        [openApprovalId],
      );
      return (
        (await world.admin.get(`/v1/approvals/${openApprovalId}`)).body.reason ===
        'requester_expired'
      );
    }, 'the denial');
  });

  test('an archived agent’s open approvals wait, and run when allowed after the agent was restored', async () => {
    const [bot, sub] = (await createFamily()) as [Agent, Agent];
    const { approval_id: id } = successfulBodyOf(
      await sub.post('/v1/actions/call', createCallTo('/after-restore')),
    );
    const resolve = (body: object) => world.admin.post(`/v1/approvals/${id}/resolve`, body);
    await setIdentityStatus(bot, 'archive');

    expect((await resolve({ resolution: 'allow' })).body.error).toBe('identity_archived');
    expect((await world.admin.get(`/v1/approvals/${id}`)).body.status).toBe('pending');
    await setIdentityStatus(bot, 'restore');
    successfulBodyOf(await resolve({ resolution: 'allow' }));
    await pollUntil(
      () => world.upstream.hits.some(({ url }) => url === '/after-restore'),
      'the replay',
    );
  });

  test('an allowed call that has not run does not run once its agent is archived', async () => {
    const [bot] = (await createFamily()) as [Agent];
    const path = `/v1/identities/${bot.id}`;
    successfulBodyOf(await world.admin.patch(path, { auto_call_on_approve: false }));
    await pollUntil(async () => {
      const { auto_call_on_approve: auto } = (await bot.get(path)).body;
      return auto === false;
    }, 'the change');
    const { approval_id: id } = successfulBodyOf(
      await bot.post('/v1/actions/call', createCallTo('/never')),
    );
    successfulBodyOf(
      await world.admin.post(`/v1/approvals/${id}/resolve`, { resolution: 'allow' }),
    );
    await setIdentityStatus(bot, 'archive');

    const executionReply = await world.admin.post(`/v1/approvals/${id}/call`);
    expect(executionReply.body.execution).toMatchObject({
      status: 'failed',
      error: { error: 'identity_archived' },
    });
    expect(world.upstream.hits.filter(({ url }) => url === '/never')).toEqual([]);
  });

  test('a subagent has inherited permissions only while its inheritance is on', async () => {
    const [bot, sub] = (await createFamily()) as [Agent, Agent];
    await allowEverything(bot);
    expect(new Set(await callWithEach([sub]))).toEqual(new Set(['pending_approval']));

    successfulBodyOf(await bot.patch(`/v1/identities/${sub.id}`, { inherit_permissions: true }));
    await untilAllAnswer([sub], 'called');
    successfulBodyOf(await bot.patch(`/v1/identities/${sub.id}`, { inherit_permissions: false }));
    await untilAllAnswer([sub], 'pending_approval');
    const hitCount = world.upstream.hits.length;
    await callWithEach([sub]);
    expect(world.upstream.hits.length).toBe(hitCount);
  });

  test('the session of an archived user is refused, and works again after the user was restored', async () => {
    const { admin } = world;
    const mia = await world.person({ orgId: admin.orgId, name: 'mia', role: 'member' });
    const on = (url: string) => createCaller(url, { cookie: mia.cookie, origin: url });
    const listSeenStatuses = async () =>
      Promise.all(gateways.map(async (url) => (await on(url).get('/v1/identities/me')).status));
    expect(await listSeenStatuses()).toEqual([200, 200]);

    successfulBodyOf(await admin.post(`/v1/identities/${mia.id}/archive`));
    await pollUntil(
      async () => (await listSeenStatuses()).every((status) => status === 403),
      'the archive',
    );
    successfulBodyOf(await admin.post(`/v1/identities/${mia.id}/restore`));
    await pollUntil(
      async () => (await listSeenStatuses()).every((status) => status === 200),
      'the restoration',
    );
  });
});
