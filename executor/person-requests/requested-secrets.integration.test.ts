import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createFamily } from '../family.testing.ts';
import { canary, context, createWorld, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

type Body = Parameters<World['gateway']['requestSecret']>[0]['body'];

const askForSecret = (principal: string, body: Partial<Body> = {}) =>
  world.gateway.requestSecret(
    { principal, body: { name: 'stripe_key', ...body }, context },
    testDeadline(),
  );
const readRequest = (principal: string, id: string) =>
  world.gateway.getRequest({ principal, id }, testDeadline());
const declineAs = (principal: string, id: string, reason?: string) =>
  world.gateway.declineRequest(
    { principal, id, body: reason === undefined ? {} : { reason }, context },
    testDeadline(),
  );
const cancelAs = (principal: string, id: string) =>
  world.gateway.cancelRequest({ principal, id, context }, testDeadline());
const provideAs = (principal: string, token: string) =>
  world.gateway.provideSecret(
    { principal, token, body: { value: canary(), allowed_hosts: ['a.example'] }, context },
    testDeadline(),
  );
const storeSecret = (
  principal: string,
  body: { name: string; tier?: 'org'; allowed_hosts?: string[] },
) => world.gateway.createSecret({ principal, body: { value: canary(), ...body } }, testDeadline());
const listEvents = async (type: 'request.raised' | 'request.closed', id: string) =>
  (await world.outbox(type)).filter(({ data }) => data['request_id'] === id);

describe('a request for a secret', () => {
  test('is listed with the requester’s reason, and is announced without its token', async () => {
    const family = createFamily(world);
    const bot = family.agent();
    const request = await askForSecret(bot.principal, {
      reason: 'To read invoices',
      allowed_hosts: ['api.stripe.com'],
      ttl: '2h',
    });

    expect(await readRequest(family.person(), request.id)).toMatchObject({
      id: request.id,
      kind: 'secret',
      status: 'open',
      requester: { id: bot.id, path: ['mia', 'bot'] },
      tier: 'user',
      template: null,
      name: 'stripe_key',
      hosts: ['api.stripe.com'],
      reason: 'To read invoices',
      expires_at: request.expires_at,
    });
    const page = { limit: 10, cursor: null };
    const { items } = await world.gateway.listRequests(
      { principal: bot.principal, page, status: 'open' },
      testDeadline(),
    );
    expect(items.map(({ id }) => id)).toEqual([request.id]);
    expect(await listEvents('request.raised', request.id)).toMatchObject([
      { audience: [family.userId, bot.id], data: { kind: 'secret', status: 'open' } },
    ]);
    expect(JSON.stringify(await world.outbox('request.raised'))).not.toContain(request.token);
  });

  test('is returned to the next agent that asks while it is open, with a link that contains the id', async () => {
    const family = createFamily(world);
    const first = await askForSecret(family.agent('first').principal);
    const second = family.agent('second');
    const repeatedRequest = await askForSecret(second.principal, { reason: 'me too' });

    expect(repeatedRequest).toMatchObject({ id: first.id, token: first.id });
    expect(await readRequest(second.principal, first.id)).toMatchObject({
      also_asked_by: [{ id: second.id }],
    });
    expect(await listEvents('request.raised', first.id)).toHaveLength(1);
    await provideAs(family.person(), repeatedRequest.token);
    await expect(provideAs(family.person(), first.token)).rejects.toMatchObject({
      code: 'expired',
    });
  });

  test('is ready when the value was entered, through the link’s token or through the request’s id', async () => {
    const family = createFamily(world);
    const bot = family.agent();
    const request = [
      await askForSecret(bot.principal, { name: 'one' }),
      await askForSecret(bot.principal, { name: 'two' }),
    ] as const;
    await provideAs(family.person(), request[0].token);
    await provideAs(family.person(), request[1].id);

    for (const { id } of request) {
      expect(await readRequest(bot.principal, id)).toMatchObject({
        status: 'ready',
        service_id: null,
        decided_by: { id: family.userId, name: 'mia' },
      });
      expect(await listEvents('request.closed', id)).toMatchObject([
        { data: { status: 'ready' }, audit: { user_id: family.userId } },
      ]);
      await expect(declineAs(family.person(), id)).rejects.toMatchObject({ code: 'conflict' });
    }
  });

  test('is ready when its owner stores a secret with that name, but not when another owner does', async () => {
    const family = createFamily(world);
    const request = await askForSecret(family.agent().principal);
    const orgRequest = await askForSecret(family.agent().principal, {
      name: 'shared',
      tier: 'org',
    });
    const secretOfOrg = { tier: 'org', allowed_hosts: ['a.example'] } as const;
    await storeSecret(createFamily(world).person(), { name: 'stripe_key' });
    await storeSecret(family.person('admin'), {
      name: 'stripe_key',
      ...secretOfOrg,
      allowed_hosts: ['a.example'],
    });
    await storeSecret(family.person(), { name: 'shared' });
    for (const { id } of [request, orgRequest]) {
      expect(await readRequest(family.person(), id)).toMatchObject({ status: 'open' });
    }

    await storeSecret(family.person(), { name: 'stripe_key' });
    await storeSecret(createFamily(world).person('admin'), {
      name: 'shared',
      ...secretOfOrg,
      allowed_hosts: ['a.example'],
    });
    for (const { id, token } of [request, orgRequest]) {
      expect(await readRequest(family.person(), id)).toMatchObject({ status: 'ready' });
      await expect(provideAs(family.person('admin'), token)).rejects.toMatchObject({
        code: 'expired',
      });
    }
  });

  test('is closed by the sweep when an executor of an earlier release stored the value', async () => {
    const family = createFamily(world);
    const request = await askForSecret(family.agent().principal);
    await world.sql`
      update executor.secret_request set provided_at = now(), provided_by = ${family.userId}
       where id = ${request.id}
    `;
    await expect
      .poll(() => readRequest(family.person(), request.id), { timeout: 20_000 })
      .toMatchObject({ status: 'ready' });
    expect(await listEvents('request.closed', request.id)).toHaveLength(1);
  });
});

describe('a request for a secret that nobody fulfils', () => {
  test('has no valid link after a decline, which applies to the agents of the user for a day', async () => {
    const family = createFamily(world);
    const bot = family.agent();
    const request = await askForSecret(bot.principal);
    await declineAs(family.person(), request.id, 'Use the sandbox');

    expect(await readRequest(bot.principal, request.id)).toMatchObject({
      status: 'declined',
      decline_reason: 'Use the sandbox',
    });
    for (const token of [request.token, request.id]) {
      await expect(provideAs(family.person(), token)).rejects.toMatchObject({ code: 'expired' });
    }
    await expect(askForSecret(family.agent('other').principal)).rejects.toMatchObject({
      code: 'conflict',
      details: { reason: 'declined', decline_reason: 'Use the sandbox' },
    });
    await askForSecret(bot.principal, { name: 'another_key' });
    await askForSecret(createFamily(world).agent().principal);
  });

  test('has no valid link after its requester took it back, and the secret may be requested again', async () => {
    const family = createFamily(world);
    const bot = family.agent();
    const request = await askForSecret(bot.principal);
    await cancelAs(bot.principal, request.id);

    await expect(provideAs(family.person(), request.token)).rejects.toMatchObject({
      code: 'expired',
    });
    const repeatedRequest = await askForSecret(bot.principal);
    expect(repeatedRequest.id).not.toBe(request.id);
    await provideAs(family.person(), repeatedRequest.token);
  });

  test('keeps its link, for the next asker, when others have asked for the same secret', async () => {
    const family = createFamily(world);
    const [bot, other] = [family.agent(), family.agent('other')];
    const request = await askForSecret(bot.principal);
    expect((await askForSecret(other.principal)).id).toBe(request.id);
    await cancelAs(bot.principal, request.id);

    expect(await readRequest(other.principal, request.id)).toMatchObject({
      status: 'open',
      requester: { id: other.id },
    });
    const [link] = await world.sql`
      select requester_id, reason from executor.secret_request where id = ${request.id}
    `;
    expect(link).toEqual({ requester_id: other.id, reason: null });
    await provideAs(family.person(), request.token);
    expect(await readRequest(other.principal, request.id)).toMatchObject({ status: 'ready' });
  });

  test('cannot be answered with a service', async () => {
    const family = createFamily(world);
    const { id } = await askForSecret(family.agent().principal);
    const answer = { principal: family.person(), id, template: 'github', tier: 'user' } as const;
    await expect(world.registry.checkRequest(answer, testDeadline())).rejects.toMatchObject({
      code: 'invalid_params',
      details: { issues: [{ path: 'request_id' }] },
    });
  });

  test('is cancelled, and its link ends, when the requester is revoked', async () => {
    const family = createFamily(world);
    const bot = family.agent();
    const request = await askForSecret(bot.principal);
    const bus = await world.environment.connect('auth');
    bus.nats.publish(
      'evt.auth.identity.revoked',
      JSON.stringify({
        id: uuidv7(),
        type: 'identity.revoked',
        created_at: new Date().toISOString(),
        org_id: world.orgId,
        audience: [],
        data: { identity_id: bot.id, revoked_ids: [bot.id] },
        audit: null,
      }),
    );
    await expect
      .poll(() => readRequest(family.person(), request.id), { timeout: 10_000 })
      .toMatchObject({ status: 'cancelled', decided_by: null });
    await expect(provideAs(family.person(), request.token)).rejects.toMatchObject({
      code: 'expired',
    });
  });
});

test('only the user whom a request for a secret asks can answer it, by token or by id', async () => {
  const family = createFamily(world);
  const bot = family.agent();
  const request = await askForSecret(bot.principal);
  const stranger = createFamily(world);

  for (const other of [
    bot.principal,
    stranger.agent().principal,
    stranger.person(),
    stranger.person('admin'),
  ]) {
    for (const token of [request.token, request.id]) {
      await expect(provideAs(other, token)).rejects.toMatchObject({ code: 'not_found' });
    }
  }
  for (const agent of [bot.principal, family.agent('other').principal]) {
    await expect(declineAs(agent, request.id)).rejects.toMatchObject({
      code: expect.stringMatching(/forbidden|not_found/),
    });
  }
  await expect(readRequest(stranger.person(), request.id)).rejects.toMatchObject({
    code: 'not_in_your_chain',
    details: { for: 'mia' },
  });
  const ofOtherOrg = family.person('admin', { orgId: uuidv7() });
  await expect(readRequest(ofOtherOrg, request.id)).rejects.toMatchObject({ code: 'not_found' });
  await expect(provideAs(ofOtherOrg, request.id)).rejects.toMatchObject({ code: 'not_found' });
  expect(await readRequest(bot.principal, request.id)).toMatchObject({ status: 'open' });
});

test('an agent may have five open requests of all kinds together', async () => {
  const bot = createFamily(world).agent();
  for (let at = 0; at < 4; at += 1) await askForSecret(bot.principal, { name: `key_${at}` });
  const service = { kind: 'service', template: 'github' } as const;
  await world.gateway.createRequest(
    { principal: bot.principal, body: service, context },
    testDeadline(),
  );

  await expect(askForSecret(bot.principal, { name: 'one_more' })).rejects.toMatchObject({
    code: 'rate_limited',
  });
});
