import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { loadConfig } from '#config';
import { gatewayConfig } from '../../gateway/config.ts';
import { startGateway } from '../../gateway/start.ts';
import type { RunningGateway } from '../../gateway/start.ts';
import { createCaller, withKey } from '../support/http.ts';
import { signInClient } from './support/clients.ts';
import { freePort } from './support/port.ts';
import { createAgent, created, startWorld, until } from './support/world.ts';
import type { Agent, World } from './support/world.ts';

/** Two gateways of one deployment: what one is told, the other must know. */
describe('on every gateway', () => {
  let world: World;
  let second: RunningGateway;
  let gateways: string[];
  let made = 0;
  beforeAll(async () => {
    world = await startWorld({ RATE_REGISTER_PER_HOUR: '0' });
    second = await startGateway(
      loadConfig(gatewayConfig, { ...world.environment, PORT: String(await freePort()) }),
    );
    gateways = [world.url, second.url];
  });
  afterAll(async () => {
    await second[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

  /** An agent of the admin's by an OAuth client, and two generations below it with keys. */
  async function createFamily(): Promise<Agent[]> {
    const bot = await createAgent(world.url, world.admin, `bot${(made += 1)}`);
    const sub = await createChild(bot, 'sub');
    const { token } = await signInClient(world, bot);
    const byClient = { ...bot, key: token, ...withKey(world.url, token) };
    return [byClient, sub, await createChild(sub, 'subsub')];
  }

  async function createChild(parent: Agent, name: string): Promise<Agent> {
    const { id } = created(await parent.post('/v1/identities/subagents', { name }));
    const { key } = created(await parent.post(`/v1/identities/${id}/keys`, { name: 'test' }));
    return { id, key, ...withKey(world.url, key) };
  }

  const call = (path: string) => ({
    service: 'http',
    method: 'POST',
    url: world.upstream.url + path,
  });
  /** What a call of each key is answered with, by each gateway. */
  const knock = async (family: readonly Agent[]): Promise<string[]> => {
    const callers = gateways.flatMap((url) => family.map(({ key }) => withKey(url, key)));
    const replies = await Promise.all(
      callers.map((caller) => caller.post('/v1/actions/call', call(`/knock${made}`))),
    );
    return replies.map(({ status, body }) => body.error ?? body.status ?? String(status));
  };
  const all = (answers: string[], answer: string) => answers.every((each) => each === answer);
  const untilAll = async (family: readonly Agent[], answer: string) => {
    await until(async () => all(await knock(family), answer), answer);
    // From then on without exception.
    for (let round = 0; round < 5; round += 1) {
      expect(new Set(await knock(family))).toEqual(new Set([answer]));
    }
  };
  const allowEverything = ({ id }: Agent) =>
    world.admin
      .post('/v1/rules', {
        identity_id: id,
        effect: 'allow',
        pattern: `http:POST:${world.upstream.host}/**`,
      })
      .then(created);
  const manage = ({ id }: Agent, verb: string) =>
    world.admin.post(`/v1/identities/${id}/${verb}`).then(created);

  test('the subtree of an archived agent stops, and goes on once it is restored', async () => {
    const family = await createFamily();
    for (const each of family) await allowEverything(each);
    await untilAll(family, 'called');

    await manage(family[0] as Agent, 'archive');
    await untilAll(family, 'identity_archived');
    const hits = world.upstream.hits.length;
    expect(new Set(await knock(family))).toEqual(new Set(['identity_archived']));
    expect(world.upstream.hits.length).toBe(hits);

    await manage(family[0] as Agent, 'restore');
    await untilAll(family, 'called');
  });

  test('the subtree of a revoked agent stops for good, and what it has open is denied', async () => {
    const family = await createFamily();
    const [bot, sub] = family as [Agent, Agent];
    const { approval_id: open } = created(await sub.post('/v1/actions/call', call('/waits')));
    for (const each of family) await allowEverything(each);
    await untilAll(family, 'called');

    await manage(bot, 'revoke');
    await untilAll(family, 'unauthenticated');
    await until(
      async () =>
        (await world.admin.get(`/v1/approvals/${open}`)).body.reason === 'requester_revoked',
      'the denial',
    );
    expect((await world.admin.post(`/v1/identities/${bot.id}/restore`)).status).toBe(409);
  });

  test('an agent stops when its end comes, and what it has open is denied', async () => {
    const family = await createFamily();
    const [bot, sub] = family as [Agent, Agent];
    const { approval_id: open } = created(await sub.post('/v1/actions/call', call('/waits')));
    for (const each of family) await allowEverything(each);
    await untilAll(family, 'called');

    const soon = new Date(Date.now() + 1_500).toISOString();
    created(await world.admin.patch(`/v1/identities/${bot.id}`, { expires_at: soon }));
    await untilAll(family, 'unauthenticated');
    // The chain of each requester is looked at once a minute; here that minute is over.
    await until(async () => {
      await world.tables.query(
        `update approvals.approval set chain_checked_at = now() - interval '2 minutes' where id = $1`,
        [open],
      );
      return (await world.admin.get(`/v1/approvals/${open}`)).body.reason === 'requester_expired';
    }, 'the denial');
  });

  test('what an archived agent has open waits, and runs when it is allowed after the restoration', async () => {
    const [bot, sub] = (await createFamily()) as [Agent, Agent];
    const { approval_id: id } = created(await sub.post('/v1/actions/call', call('/after-restore')));
    const resolve = (body: object) => world.admin.post(`/v1/approvals/${id}/resolve`, body);
    await manage(bot, 'archive');

    expect((await resolve({ resolution: 'allow' })).body.error).toBe('identity_archived');
    expect((await world.admin.get(`/v1/approvals/${id}`)).body.status).toBe('pending');
    await manage(bot, 'restore');
    created(await resolve({ resolution: 'allow' }));
    await until(
      () => world.upstream.hits.some(({ url }) => url === '/after-restore'),
      'the replay',
    );
  });

  test('what was allowed and has not run does not run once its agent is archived', async () => {
    const [bot] = (await createFamily()) as [Agent];
    const path = `/v1/identities/${bot.id}`;
    created(await world.admin.patch(path, { auto_call_on_approve: false }));
    await until(async () => {
      const { auto_call_on_approve: auto } = (await bot.get(path)).body;
      return auto === false;
    }, 'the change');
    const { approval_id: id } = created(await bot.post('/v1/actions/call', call('/never')));
    created(await world.admin.post(`/v1/approvals/${id}/resolve`, { resolution: 'allow' }));
    await manage(bot, 'archive');

    const ran = await world.admin.post(`/v1/approvals/${id}/call`);
    expect(ran.body.execution).toMatchObject({
      status: 'failed',
      error: { error: 'identity_archived' },
    });
    expect(world.upstream.hits.filter(({ url }) => url === '/never')).toEqual([]);
  });

  test('what a subagent inherits, it has only while it inherits', async () => {
    const [bot, sub] = (await createFamily()) as [Agent, Agent];
    await allowEverything(bot);
    expect(new Set(await knock([sub]))).toEqual(new Set(['pending_approval']));

    created(await bot.patch(`/v1/identities/${sub.id}`, { inherit_permissions: true }));
    await untilAll([sub], 'called');
    created(await bot.patch(`/v1/identities/${sub.id}`, { inherit_permissions: false }));
    await until(async () => !all(await knock([sub]), 'called'), 'the end of it');
    const hits = world.upstream.hits.length;
    await knock([sub]);
    expect(world.upstream.hits.length).toBe(hits);
  });

  test('the session of an archived user opens nothing, and works again after it', async () => {
    const { admin } = world;
    const mia = await world.person({ orgId: admin.orgId, name: 'mia', role: 'member' });
    const on = (url: string) => createCaller(url, { cookie: mia.cookie, origin: url });
    const seen = async () =>
      Promise.all(gateways.map(async (url) => (await on(url).get('/v1/identities/me')).status));
    expect(await seen()).toEqual([200, 200]);

    created(await admin.post(`/v1/identities/${mia.id}/archive`));
    await until(async () => (await seen()).every((status) => status === 403), 'the archive');
    created(await admin.post(`/v1/identities/${mia.id}/restore`));
    await until(async () => (await seen()).every((status) => status === 200), 'the restoration');
  });
});
