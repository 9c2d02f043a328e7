import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createFamily } from '../family.testing.ts';
import { context, createWorld, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

type Body = Parameters<World['gateway']['createRequest']>[0]['body'];
type ServiceWish = Omit<Extract<Body, { kind: 'service' }>, 'kind'>;

const createRequestAs = (principal: string, body: Partial<ServiceWish> = {}) =>
  world.gateway.createRequest(
    { principal, body: { kind: 'service', template: 'github', ...body }, context },
    testDeadline(),
  );
const storeRefusedSecret = async (principal: string, name: string) => {
  const body = { name, value: 'CANARY-refused' };
  const { id } = await world.gateway.createSecret({ principal, body }, testDeadline());
  await world.sql`update executor.secret set refused_at = now(), refused_version = 1 where id = ${id}`;
};
const readRequest = (principal: string, id: string) =>
  world.gateway.getRequest({ principal, id }, testDeadline());
const declineAs = (principal: string, id: string, reason?: string) =>
  world.gateway.declineRequest(
    { principal, id, body: reason === undefined ? {} : { reason }, context },
    testDeadline(),
  );
const cancelAs = (principal: string, id: string) =>
  world.gateway.cancelRequest({ principal, id, context }, testDeadline());
const listRequestIds = async (principal: string, status: 'open' | 'expired' | null = null) => {
  const page = { limit: 200, cursor: null };
  const { items } = await world.gateway.listRequests({ principal, page, status }, testDeadline());
  return items.map(({ id }) => id);
};
const expireNow = (id: string) =>
  world.sql`update executor.person_request set expires_at = now() where id = ${id}`;
const listEvents = async (type: 'request.raised' | 'request.closed', id: string) =>
  (await world.outbox(type)).filter(({ data }) => data['request_id'] === id);

describe('asking for a service', () => {
  test('creates an open request with the requester’s reason, and announces the request to its chain', async () => {
    const family = createFamily(world);
    const bot = family.agent('bot');
    const { request, isNew } = await createRequestAs(bot.principal, {
      name: 'work_github',
      actions: ['get', 'create', 'get'],
      reason: 'To file issues',
    });

    expect(isNew).toBe(true);
    expect(request).toMatchObject({
      kind: 'service',
      status: 'open',
      requester: { id: bot.id, kind: 'agent', name: 'bot', path: ['mia', 'bot'] },
      tier: 'user',
      template: { key: 'github', title: world.template.current.title },
      name: 'work_github',
      actions: ['get', 'create'],
      hosts: world.template.current.hosts,
      reason: 'To file issues',
      service_id: null,
      also_asked_by: [],
      decided_by: null,
    });
    expect(new URL(request.url).pathname).toBe(`/requests/${request.id}`);
    const lifeMs = Date.parse(request.expires_at) - Date.parse(request.created_at);
    expect(lifeMs).toBe(7 * 24 * 3_600_000);
    expect(await listEvents('request.raised', request.id)).toMatchObject([
      {
        audience: [family.userId, bot.id],
        data: { kind: 'service', status: 'open', name: 'work_github', reason: 'To file issues' },
        audit: {
          description: 'Asked for the service work_github from template github',
          identity: { id: bot.id },
          request_id: context.requestId,
        },
      },
    ]);
  });

  test('returns the open request when an agent of the user asks for the same, and announces nothing', async () => {
    const family = createFamily(world);
    const [first, second] = [family.agent('first'), family.agent('second')];
    const { request } = await createRequestAs(first.principal);

    const secondRequest = await createRequestAs(first.principal, { reason: 'once more' });
    expect(secondRequest).toMatchObject({
      isNew: false,
      request: { id: request.id, also_asked_by: [] },
    });
    await expect(readRequest(second.principal, request.id)).rejects.toMatchObject({
      code: 'not_found',
    });
    const joined = await createRequestAs(second.principal);
    expect(joined).toMatchObject({
      isNew: false,
      request: { id: request.id, also_asked_by: [{ id: second.id }] },
    });
    expect(await readRequest(second.principal, request.id)).toEqual(joined.request);
    expect(await listEvents('request.raised', request.id)).toHaveLength(1);

    const other = await createRequestAs(second.principal, { name: 'github_two' });
    expect(other.isNew).toBe(true);
    expect((await createRequestAs(createFamily(world).agent('bot').principal)).isNew).toBe(true);
  });

  test('returns which actions the open request lacks, and does not add them', async () => {
    const family = createFamily(world);
    const [first, second] = [family.agent('first'), family.agent('second')];
    const { request } = await createRequestAs(first.principal, { actions: ['get'] });
    expect(request.actions_left_out).toBeUndefined();

    const repeatedRequest = await createRequestAs(first.principal, {
      actions: ['get', 'create', 'create'],
    });
    expect(repeatedRequest).toMatchObject({
      isNew: false,
      request: { id: request.id, actions: ['get'], actions_left_out: ['create'] },
    });
    const joined = await createRequestAs(second.principal, { actions: ['create'] });
    expect(joined.request).toMatchObject({ actions: ['get'], actions_left_out: ['create'] });
    const sameRequest = await createRequestAs(second.principal, { actions: ['get'] });
    expect(sameRequest.request.actions_left_out).toBeUndefined();
    expect(await readRequest(family.person(), request.id)).toMatchObject({ actions: ['get'] });
  });

  test('creates one request when twenty identical ones arrive at once', async () => {
    const family = createFamily(world);
    const agents = Array.from({ length: 20 }, (_, at) => family.agent(`bot_${at}`));
    const all = await Promise.all(agents.map(({ principal }) => createRequestAs(principal)));
    expect(all.filter(({ isNew }) => isNew)).toHaveLength(1);
    expect(new Set(all.map(({ request: { id } }) => id)).size).toBe(1);
  });

  test('is refused with the name of the refused secret when the service is connected already', async () => {
    const family = createFamily(world);
    world.genuine.connectedNames.add('refused');
    world.genuine.secretsOfServices = { key: 'refused_token' };
    await storeRefusedSecret(family.person(), 'refused_token');
    await expect(
      createRequestAs(family.agent('bot').principal, { name: 'refused' }),
    ).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('ask for a new value'),
      details: { reason: 'name_taken', service: 'refused', refused_secret: 'refused_token' },
    });
    world.genuine.secretsOfServices = {};
  });

  test.for([
    ['two\nlines', 'invalid_request'],
    ['hidden \u202e turn', 'invalid_params'],
    ['zero\u200bwidth', 'invalid_params'],
  ])('is refused with the reason %j', async ([reason = '', code]) => {
    const bot = createFamily(world).agent('bot');
    await expect(createRequestAs(bot.principal, { reason })).rejects.toMatchObject({ code });
  });

  test('is accepted with an emoji in the reason', async () => {
    const bot = createFamily(world).agent('bot');
    const { request } = await createRequestAs(bot.principal, { reason: 'For the team 👩‍💻' });
    expect(request.reason).toBe('For the team 👩‍💻');
  });

  test('is refused with an action that the template does not have, and with a name that is taken', async () => {
    const bot = createFamily(world).agent('bot');
    await expect(createRequestAs(bot.principal, { actions: ['get', 'fly'] })).rejects.toMatchObject(
      {
        code: 'invalid_params',
        details: { issues: [{ path: 'actions.1' }] },
      },
    );
    await expect(createRequestAs(bot.principal, { actions: ['creat'] })).rejects.toMatchObject({
      message: expect.stringContaining('Did you mean "create"?'),
      details: { issues: [{ path: 'actions.0', did_you_mean: 'create' }] },
    });
    for (const hidden of ['get\u202e', 'get\u200b']) {
      await expect(createRequestAs(bot.principal, { actions: [hidden] })).rejects.toMatchObject({
        code: 'invalid_params',
        message: expect.stringContaining('plain text'),
      });
    }
    world.genuine.ownTemplates.add('own_notes');
    await expect(createRequestAs(bot.principal, { template: 'own_notes' })).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('Tell your user to connect it'),
    });
    world.genuine.connectedNames.add('taken').add('org/shared');
    await expect(createRequestAs(bot.principal, { name: 'taken' })).rejects.toMatchObject({
      code: 'conflict',
      details: { reason: 'name_taken', service: 'taken' },
    });
    await expect(
      createRequestAs(bot.principal, { name: 'shared', tier: 'org' }),
    ).rejects.toMatchObject({
      code: 'conflict',
    });
    await createRequestAs(bot.principal, { name: 'shared' });
  });

  test('is refused by a deny rule, and for an auditor', async () => {
    world.genuine.deniedTemplates.add('stripe');
    const family = createFamily(world);
    await expect(
      createRequestAs(family.agent('bot').principal, { template: 'stripe' }),
    ).rejects.toMatchObject({
      code: 'forbidden',
      details: { reason: 'denied_by_rule' },
    });
    await expect(
      createRequestAs(family.agent('bot').principal, { template: 'Stripe' }),
    ).rejects.toMatchObject({
      code: 'forbidden',
      details: { reason: 'denied_by_rule' },
    });
    await expect(createRequestAs(family.person('auditor'))).rejects.toMatchObject({
      code: 'forbidden',
    });
  });

  test('ignores capital letters in the key of the template', async () => {
    const bot = createFamily(world).agent('bot');
    const { request } = await createRequestAs(bot.principal, { template: 'GitHub' });
    expect(request).toMatchObject({ template: { key: 'github' }, name: 'github' });
    expect((await createRequestAs(bot.principal)).request.id).toBe(request.id);
  });

  test('is limited to five open requests per agent, even if more arrive at once', async () => {
    const family = createFamily(world);
    const bot = family.agent('bot');
    const all = await Promise.allSettled(
      Array.from({ length: 8 }, (_, at) => createRequestAs(bot.principal, { name: `many_${at}` })),
    );
    const madeRequests = all.flatMap((each) =>
      each.status === 'fulfilled' ? [each.value.request] : [],
    );
    expect(madeRequests).toHaveLength(5);
    await expect(createRequestAs(bot.principal, { name: 'more' })).rejects.toMatchObject({
      code: 'rate_limited',
      details: { retry_after: expect.any(Number) },
    });
    expect((await createRequestAs(bot.principal, { name: madeRequests[0]!.name! })).isNew).toBe(
      false,
    );
    await createRequestAs(family.agent('other').principal, { name: 'more' });
    await cancelAs(bot.principal, madeRequests[0]!.id);
    await createRequestAs(bot.principal, { name: 'another' });
  });

  test('is limited to twenty open requests of all agents of a user, and to twenty a day', async () => {
    const family = createFamily(world);
    const requestAll = (names: number[]) =>
      Promise.all(
        names.map((at) =>
          createRequestAs(family.agent(`bot_${at}`).principal, { name: `many_${at}` }),
        ),
      );
    const madeRequests = await requestAll([...Array(20).keys()]);
    const requestAnother = () => createRequestAs(family.agent('late').principal, { name: 'late' });
    await expect(requestAnother()).rejects.toMatchObject({ code: 'rate_limited' });
    await Promise.all(madeRequests.map(({ request: { id } }) => cancelAs(family.person(), id)));
    await expect(requestAnother()).rejects.toMatchObject({
      code: 'rate_limited',
      message: expect.stringContaining('within a day'),
    });
    await world.sql`
      update executor.person_request set created_at = now() - interval '25 hours'
       where user_id = ${family.userId}
    `;
    expect((await requestAnother()).isNew).toBe(true);
  });

  test('is limited to ten requests a day of an agent with its subagents, even if they are taken back at once', async () => {
    const family = createFamily(world);
    const bot = family.agent('bot');
    const askAndCancel = async (principal: string, name: string) => {
      const { request } = await createRequestAs(principal, { name });
      await cancelAs(principal, request.id);
    };
    const attempts = await Promise.allSettled(
      Array.from({ length: 14 }, (_, at) => {
        const requester = at % 2 === 0 ? bot : bot.child();
        return askAndCancel(requester.principal, `many_${at}`);
      }),
    );
    const { length: refused } = attempts.filter(({ status }) => status === 'rejected');
    for (let at = 0; at < refused - 4; at += 1) {
      await askAndCancel(bot.principal, `again_${at}`);
    }
    for (const { principal } of [bot, bot.child()]) {
      await expect(createRequestAs(principal, { name: 'more' })).rejects.toMatchObject({
        code: 'rate_limited',
        message: expect.stringContaining('You and your subagents have made 10 requests'),
        details: { retry_after: expect.any(Number) },
      });
    }
    const { count } = (
      await world.sql<{ count: number }[]>`
        select count(*)::integer from executor.person_request where user_id = ${family.userId}
      `
    )[0]!;
    expect(count).toBe(10);

    expect((await createRequestAs(family.agent('other').principal)).isNew).toBe(true);
    expect((await createRequestAs(family.person(), { name: 'own' })).isNew).toBe(true);
  });

  test('is limited to twenty requests of a user, in addition to those of the agents', async () => {
    const family = createFamily(world);
    for (const at of Array.from({ length: 20 }).keys()) {
      await createRequestAs(family.agent(`bot_${at}`).principal, { name: `many_${at}` });
    }
    for (const at of Array.from({ length: 20 }).keys()) {
      expect((await createRequestAs(family.person(), { name: `own_${at}` })).isNew).toBe(true);
    }
    await expect(createRequestAs(family.person(), { name: 'more' })).rejects.toMatchObject({
      code: 'rate_limited',
    });
  });

  test('returns the open request to a user even when the list of askers is full', async () => {
    const family = createFamily(world);
    const { request } = await createRequestAs(family.agent('first').principal);
    for (const at of Array.from({ length: 20 }).keys())
      await createRequestAs(family.agent(`bot_${at}`).principal);
    await expect(createRequestAs(family.agent('late').principal)).rejects.toMatchObject({
      code: 'rate_limited',
    });
    expect(await createRequestAs(family.person())).toMatchObject({
      isNew: false,
      request: { id: request.id },
    });
  });
});

describe('a request that several agents asked for', () => {
  test('lists an agent with all its subagents once, and not the subagents of the requester', async () => {
    const family = createFamily(world);
    const [bad, good, third] = [family.agent('bad'), family.agent('good'), family.agent('third')];
    const { request } = await createRequestAs(bad.principal);
    for (const { principal } of Array.from({ length: 21 }, () => bad.child())) {
      expect((await createRequestAs(principal)).request.also_asked_by).toEqual([]);
      expect((await readRequest(principal, request.id)).id).toBe(request.id);
    }
    for (const asker of [good.child(), good, good.child(), third]) {
      await createRequestAs(asker.principal);
      expect((await readRequest(asker.principal, request.id)).id).toBe(request.id);
    }
    const { also_asked_by: askers } = await readRequest(family.person(), request.id);
    expect(askers.map(({ path }) => path[1])).toEqual(['good', 'third']);
  });

  test('passes to the next asker, without the reason and actions of the first requester, when the first takes it back', async () => {
    const family = createFamily(world);
    const [bad, good, third] = [family.agent('bad'), family.agent('good'), family.agent('third')];
    const { request } = await createRequestAs(bad.principal, { reason: 'mine', actions: ['get'] });
    await createRequestAs(good.principal);
    await createRequestAs(third.principal);
    expect(await cancelAs(bad.principal, request.id)).toMatchObject({
      status: 'open',
      requester: { id: good.id },
      also_asked_by: [{ id: third.id }],
      reason: null,
      actions: [],
    });
    expect(await listEvents('request.closed', request.id)).toEqual([]);
    expect((await listEvents('request.raised', request.id)).at(-1)).toMatchObject({
      data: { requester: { id: good.id } },
      audit: { identity: { id: bad.id }, description: expect.stringContaining('taken back') },
    });
    await expect(cancelAs(bad.principal, request.id)).rejects.toMatchObject({ code: 'forbidden' });
    await cancelAs(good.principal, request.id);
    expect(await cancelAs(third.principal, request.id)).toMatchObject({ status: 'cancelled' });
  });

  test('is cancelled for all of them when their user cancels it', async () => {
    const family = createFamily(world);
    const { request } = await createRequestAs(family.agent('one').principal);
    await createRequestAs(family.agent('two').principal);
    expect(await cancelAs(family.person(), request.id)).toMatchObject({ status: 'cancelled' });
  });

  test('passes to another asker when its requester is revoked', async () => {
    const family = createFamily(world);
    const [bot, other] = [family.agent('bot'), family.agent('other')];
    const { request } = await createRequestAs(bot.principal);
    await createRequestAs(other.principal);
    world.genuine.revoked.add(bot.id);
    const answer = { principal: family.person(), id: request.id, template: 'github' };
    await world.registry.checkRequest({ ...answer, tier: 'user' }, testDeadline());
    expect(await readRequest(other.principal, request.id)).toMatchObject({
      status: 'open',
      requester: { id: other.id },
    });
  });
});

describe('a request', () => {
  test('is visible to the chain of its requester, to admins and to auditors', async () => {
    const family = createFamily(world);
    const bot = family.agent('bot');
    const child = bot.child();
    const { request } = await createRequestAs(child.principal);
    const readers = {
      child: child.principal,
      parent: bot.principal,
      user: family.person(),
      admin: createFamily(world).person('admin'),
      auditor: createFamily(world).person('auditor'),
    };
    for (const [who, principal] of Object.entries(readers)) {
      expect((await readRequest(principal, request.id)).id, who).toBe(request.id);
      expect(await listRequestIds(principal, 'open'), who).toContain(request.id);
    }
  });

  test('is not visible to agents outside the requester’s chain', async () => {
    const family = createFamily(world);
    const { request } = await createRequestAs(family.agent('bot').principal);
    const strangers = {
      sibling: family.agent('sibling').principal,
      below: family.agent('bot').child().principal,
      membersAgent: createFamily(world).agent('bot').principal,
      otherOrg: createFamily(world, uuidv7()).person('admin'),
    };
    for (const [who, principal] of Object.entries(strangers)) {
      for (const attempt of [readRequest, declineAs, cancelAs]) {
        await expect(attempt(principal, request.id), who).rejects.toMatchObject({
          code: 'not_found',
        });
      }
      expect(await listRequestIds(principal), who).not.toContain(request.id);
    }
    await expect(readRequest(family.person(), uuidv7())).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  test('shows another member of the org only whom it is for', async () => {
    const bot = createFamily(world).agent('bot');
    const other = createFamily(world).person();
    const { request } = await createRequestAs(bot.principal, { reason: 'CONFIDENTIAL' });
    const { request: forOrg } = await createRequestAs(bot.principal, {
      tier: 'org',
      name: 'shared_one',
    });
    const refusals = await Promise.all(
      [request, forOrg].flatMap(({ id }) =>
        [readRequest, declineAs, cancelAs].map((attempt) =>
          attempt(other, id).catch((error: unknown) => error),
        ),
      ),
    );
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({
        code: 'not_in_your_chain',
        details: { for: expect.stringMatching(/^(mia|an admin of the org)$/) },
      });
      expect(JSON.stringify(refusal)).not.toMatch(/CONFIDENTIAL|github|shared_one/);
    }
    expect(await listRequestIds(other)).not.toContain(request.id);
  });
});

describe('declining a request', () => {
  test('is allowed to the user of its requester, and for tier org to an admin', async () => {
    const family = createFamily(world);
    const bot = family.agent('bot');
    const admin = createFamily(world).person('admin');
    const { request: own } = await createRequestAs(bot.principal);
    const { request: forOrg } = await createRequestAs(bot.principal, {
      tier: 'org',
      name: 'for_org',
    });

    for (const [principal, id] of [
      [bot.principal, own.id],
      [admin, own.id],
      [createFamily(world).person('auditor'), own.id],
      [family.person(), forOrg.id],
      [bot.principal, forOrg.id],
      [family.person('auditor'), own.id],
    ] as const) {
      await expect(declineAs(principal, id)).rejects.toMatchObject({ code: 'forbidden' });
    }
    expect(await declineAs(family.person(), own.id, 'Not now')).toMatchObject({
      status: 'declined',
      decline_reason: 'Not now',
      decided_by: { id: family.userId },
    });
    expect(await declineAs(admin, forOrg.id)).toMatchObject({ status: 'declined' });
    expect(await listEvents('request.closed', own.id)).toMatchObject([
      {
        audience: [family.userId, bot.id],
        data: { status: 'declined', decline_reason: 'Not now' },
        audit: {
          description:
            'Declined the request for the service github from template github by mia / bot',
        },
      },
    ]);
  });

  test('applies for a day to all agents of the user, under any name, and to no other user', async () => {
    const family = createFamily(world);
    const bot = family.agent('bot');
    const { request } = await createRequestAs(bot.principal);
    await declineAs(family.person(), request.id, 'Not now');

    const child = bot.child();
    for (const [principal, body] of [
      [bot.principal, {}],
      [family.agent('other').principal, {}],
      [child.principal, { name: 'other_name' }],
    ] as const) {
      await expect(createRequestAs(principal, body)).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('Not now'),
        details: { reason: 'declined', request_id: request.id, retry_after: expect.any(Number) },
      });
    }
    await createRequestAs(bot.principal, { template: 'gitlab' });
    await createRequestAs(createFamily(world).agent('bot').principal);
    await world.sql`
      update executor.person_request set closed_at = now() - interval '25 hours'
       where id = ${request.id}
    `;
    expect((await createRequestAs(bot.principal)).isNew).toBe(true);
  });

  test('also declines earlier and concurrent requests for the template under other names', async () => {
    const family = createFamily(world);
    const bot = family.agent('bot');
    const { request: first } = await createRequestAs(bot.principal, { name: 'first' });
    const { request: second } = await createRequestAs(bot.principal, { name: 'second' });
    const { request: different } = await createRequestAs(bot.principal, { template: 'gitlab' });

    const [, ...asked] = await Promise.allSettled([
      declineAs(family.person(), first.id, 'Not now'),
      createRequestAs(bot.principal, { name: 'third' }),
      createRequestAs(family.agent('other').principal, { name: 'fourth' }),
    ]);

    const others = asked.flatMap((each) =>
      each.status === 'fulfilled' ? [each.value.request.id] : [],
    );
    for (const id of [second.id, ...others]) {
      expect(await readRequest(family.person(), id)).toMatchObject({
        status: 'declined',
        decline_reason: 'Not now',
      });
    }
    expect(await readRequest(family.person(), different.id)).toMatchObject({ status: 'open' });
  });
});

describe('taking a request back', () => {
  test('is allowed to its requester, the ancestors of the requester and admins', async () => {
    const family = createFamily(world);
    const bot = family.agent('bot');
    const child = bot.child();
    const admin = createFamily(world).person('admin');
    for (const principal of [child.principal, bot.principal, family.person(), admin]) {
      const { request } = await createRequestAs(child.principal);
      expect(await cancelAs(principal, request.id)).toMatchObject({ status: 'cancelled' });
      expect(await listEvents('request.closed', request.id)).toHaveLength(1);
    }
  });

  test('is not allowed to an identity that asked for the same later, nor to an auditor', async () => {
    const family = createFamily(world);
    const { request } = await createRequestAs(family.agent('bot').principal);
    const joined = family.agent('joined');
    await createRequestAs(joined.principal);
    for (const principal of [joined.principal, createFamily(world).person('auditor')]) {
      await expect(cancelAs(principal, request.id)).rejects.toMatchObject({ code: 'forbidden' });
    }
  });
});

test('exactly one of ten declines and ten cancellations at once closes the request', async () => {
  const family = createFamily(world);
  const bot = family.agent('bot');
  const { request } = await createRequestAs(bot.principal);
  const attempts = Array.from({ length: 10 }, () => [
    declineAs(family.person(), request.id),
    cancelAs(bot.principal, request.id),
  ]).flat();
  const all = await Promise.allSettled(attempts);
  const closed = all.filter(({ status }) => status === 'fulfilled');
  expect(closed).toHaveLength(1);
  for (const each of all) {
    if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'conflict' });
  }
  expect(await listEvents('request.closed', request.id)).toHaveLength(1);
});

describe('answering a request with a service', () => {
  const checkAnswer = (
    principal: string,
    id: string,
    body: { template?: string; tier?: 'org' } = {},
  ) =>
    world.registry.checkRequest(
      { principal, id, template: 'github', tier: 'user', ...body },
      testDeadline(),
    );
  const finishWithService = (id: string, ownerId: string, serviceId = uuidv7()) =>
    world.registry.finishRequest(
      {
        orgId: world.orgId,
        id,
        serviceId,
        serviceName: 'github_2',
        tier: 'user',
        ownerId,
        by: { id: ownerId, kind: 'user', name: 'mia', path: ['mia'] },
      },
      testDeadline(),
    );

  test('is allowed to the user of its requester, for the requested template and tier', async () => {
    const family = createFamily(world);
    const bot = family.agent('bot');
    const { request } = await createRequestAs(bot.principal);
    await checkAnswer(family.person(), request.id);
    for (const [principal, code] of [
      [bot.principal, 'forbidden'],
      [createFamily(world).person('admin'), 'forbidden'],
      [family.person('auditor'), 'forbidden'],
      [createFamily(world).person(), 'not_in_your_chain'],
      [family.agent('sibling').principal, 'not_found'],
      [createFamily(world, uuidv7()).person(), 'not_found'],
    ] as const) {
      await expect(checkAnswer(principal, request.id)).rejects.toMatchObject({ code });
    }
    for (const other of [{ template: 'gitlab' }, { tier: 'org' as const }]) {
      await expect(checkAnswer(family.person(), request.id, other)).rejects.toMatchObject({
        code: 'invalid_params',
      });
    }
    await declineAs(family.person(), request.id);
    await expect(checkAnswer(family.person(), request.id)).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  test('closes it as ready only for a service of the user whom it asked', async () => {
    const family = createFamily(world);
    const bot = family.agent('bot');
    const { request } = await createRequestAs(bot.principal);
    await finishWithService(request.id, uuidv7());
    expect(await readRequest(bot.principal, request.id)).toMatchObject({ status: 'open' });

    const serviceId = uuidv7();
    await finishWithService(request.id, family.userId, serviceId);
    expect(await readRequest(bot.principal, request.id)).toMatchObject({
      status: 'ready',
      name: 'github',
      service_id: serviceId,
      service: 'github_2',
      decided_by: { id: family.userId, name: 'mia' },
    });
    await finishWithService(request.id, family.userId);
    expect(await readRequest(bot.principal, request.id)).toMatchObject({ service_id: serviceId });
    expect(await listEvents('request.closed', request.id)).toMatchObject([
      { data: { status: 'ready', service_id: serviceId }, audit: { user_id: family.userId } },
    ]);
  });

  test('leaves exactly one answer when the request is declined at the same time', async () => {
    const family = createFamily(world);
    const { request } = await createRequestAs(family.agent('bot').principal);
    const declines = Array.from({ length: 5 }, () =>
      declineAs(family.person(), request.id).then(
        () => 'declined',
        () => 'late',
      ),
    );
    const finishes = Array.from({ length: 5 }, () => finishWithService(request.id, family.userId));
    const outcomes = await Promise.all([...declines, ...finishes]);
    const { status } = await readRequest(family.person(), request.id);
    expect(outcomes.filter((each) => each === 'declined')).toHaveLength(
      status === 'declined' ? 1 : 0,
    );
    expect(['declined', 'ready']).toContain(status);
    expect(await listEvents('request.closed', request.id)).toHaveLength(1);
  });

  test('is noticed through the event of the service when the registry’s direct message was lost', async () => {
    const family = createFamily(world);
    const { request } = await createRequestAs(family.agent('bot').principal);
    const serviceId = uuidv7();
    const bus = await world.environment.connect('registry');
    bus.nats.publish(
      'evt.registry.service.created',
      JSON.stringify({
        id: uuidv7(),
        type: 'service.created',
        created_at: new Date().toISOString(),
        org_id: world.orgId,
        audience: [],
        data: {
          service_id: serviceId,
          name: 'work',
          tier: 'user',
          owner_id: family.userId,
          request_id: request.id,
          connected_by: { id: family.userId, kind: 'user', name: 'mia', path: ['mia'] },
        },
        audit: null,
      }),
    );
    await expect
      .poll(() => readRequest(family.person(), request.id), { timeout: 10_000 })
      .toMatchObject({ status: 'ready', service_id: serviceId, service: 'work' });
  });
});

describe('a revoked requester', () => {
  test('has its own open requests and those of its descendants cancelled', async () => {
    const family = createFamily(world);
    const bot = family.agent('bot');
    const child = bot.child();
    const { request } = await createRequestAs(bot.principal);
    const { request: childs } = await createRequestAs(child.principal, { name: 'other' });
    const [others, last] = [family.agent('else'), family.agent('last')];
    const { request: ofOthers } = await createRequestAs(others.principal, { name: 'third' });
    await createRequestAs(child.principal, { name: 'third' });
    await createRequestAs(last.principal, { name: 'third' });
    const bus = await world.environment.connect('auth');
    bus.nats.publish(
      'evt.auth.identity.revoked',
      JSON.stringify({
        id: uuidv7(),
        type: 'identity.revoked',
        created_at: new Date().toISOString(),
        org_id: world.orgId,
        audience: [],
        data: { identity_id: bot.id, revoked_ids: [bot.id, child.id] },
        audit: null,
      }),
    );
    for (const { id } of [request, childs]) {
      await expect
        .poll(() => readRequest(family.person(), id), { timeout: 10_000 })
        .toMatchObject({ status: 'cancelled', decided_by: null });
      expect(await listEvents('request.closed', id)).toHaveLength(1);
    }
    await expect
      .poll(() => readRequest(family.person(), ofOthers.id), { timeout: 10_000 })
      .toMatchObject({ status: 'open', also_asked_by: [{ id: last.id }] });
    expect(await cancelAs(others.principal, ofOthers.id)).toMatchObject({
      requester: { id: last.id },
    });
    expect(await cancelAs(last.principal, ofOthers.id)).toMatchObject({ status: 'cancelled' });
  });

  test('is noticed when a person answers its request, even if the event was missed', async () => {
    const family = createFamily(world);
    const bot = family.agent('bot');
    const { request } = await createRequestAs(bot.principal);
    world.genuine.revoked.add(bot.id);
    const answer = { principal: family.person(), id: request.id, template: 'github' };
    await expect(
      world.registry.checkRequest({ ...answer, tier: 'user' }, testDeadline()),
    ).rejects.toMatchObject({ code: 'conflict' });
    expect(await readRequest(family.person(), request.id)).toMatchObject({ status: 'cancelled' });
  });
});

test('a request expires after seven days: nobody can answer it, and the sweep announces the expiry once', async () => {
  const family = createFamily(world);
  const bot = family.agent('bot');
  const { request } = await createRequestAs(bot.principal);
  await expireNow(request.id);

  expect(await readRequest(bot.principal, request.id)).toMatchObject({ status: 'expired' });
  expect(await listRequestIds(bot.principal, 'expired')).toEqual([request.id]);
  expect(await listRequestIds(bot.principal, 'open')).toEqual([]);
  for (const attempt of [
    () => declineAs(family.person(), request.id),
    () => cancelAs(bot.principal, request.id),
  ]) {
    await expect(attempt()).rejects.toMatchObject({ code: 'expired' });
  }
  await expect
    .poll(() => listEvents('request.closed', request.id), { timeout: 20_000 })
    .toMatchObject([{ data: { status: 'expired', decided_by: null }, audit: { identity: null } }]);
  const next = await createRequestAs(bot.principal);
  expect(next).toMatchObject({ isNew: true });
});
