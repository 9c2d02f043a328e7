import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { startTestProvider } from '../../test/support/oauth-provider.ts';
import type { TestProvider } from '../../test/support/oauth-provider.ts';
import { createFamily } from '../family.testing.ts';
import { context, createWorld, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

let world: World;
let provider: TestProvider;
beforeAll(async () => {
  world = await createWorld({ variables: { BASE_URL: 'http://127.0.0.1:8080' } });
  provider = await startTestProvider('one');
  const { issuer } = provider;
  for (const name of ['one', 'two']) {
    await world.gateway.putOauthApp(
      {
        principal: world.admin,
        provider: name,
        context,
        body: {
          client_id: 'gateway',
          client_secret: 'CANARY-client-secret',
          definition: { title: name, issuer, hosts: ['api.example.com'] },
        },
      },
      testDeadline(),
    );
  }
});
afterAll(async () => {
  await provider?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});

type Body = Parameters<World['gateway']['createConnection']>[0]['body'];

const askForAccount = async (
  principal: string,
  body: Body = { provider: 'one', scopes: ['read'] },
) => {
  const asked = await world.gateway.createConnection({ principal, body, context }, testDeadline());
  return {
    connectionId: asked.id,
    id: asked.request_id ?? '',
    flowId: new URL(asked.authorization_url).pathname.split('/').at(-1) ?? '',
  };
};
const fetchRequest = (principal: string, id: string) =>
  world.gateway.getRequest({ principal, id }, testDeadline());
const decline = (principal: string, id: string) =>
  world.gateway.declineRequest({ principal, id, body: { reason: 'no' }, context }, testDeadline());
/**
 * Goes through the flow as a person does. The test provider grants everything that is requested.
 */
async function grantAccess(principal: string, flowId: string) {
  const { gateway } = world;
  const { url } = await gateway.beginConnectionFlow(
    { principal, id: flowId, context },
    testDeadline(),
  );
  const reply = await fetch(url, { redirect: 'manual' });
  const callbackUrl = new URL(reply.headers.get('location') ?? '');
  const query = callbackUrl.search.slice(1);
  const key = callbackUrl.pathname.split('/').at(-1) ?? '';
  await gateway.finishConnectionFlow({ principal, provider: key, query, context }, testDeadline());
}
const listEvents = async (type: 'request.raised' | 'request.closed', id: string) =>
  (await world.outbox(type)).filter(({ data }) => data['request_id'] === id);

describe('an agent’s request for an account', () => {
  test('is recorded with its reason, and is ready when the account is stored', async () => {
    const family = createFamily(world);
    const bot = family.agent();
    const request = await askForAccount(bot.principal, {
      provider: 'one',
      scopes: ['read'],
      reason: 'To read mail',
    });

    expect(await fetchRequest(bot.principal, request.id)).toMatchObject({
      kind: 'connection',
      status: 'open',
      requester: { id: bot.id, path: ['mia', 'bot'] },
      name: 'one',
      scopes: ['read'],
      reason: 'To read mail',
      connection_id: request.connectionId,
    });
    expect(await listEvents('request.raised', request.id)).toMatchObject([
      { audience: [family.userId, bot.id], data: { kind: 'connection', status: 'open' } },
    ]);
    await grantAccess(family.person(), request.flowId);
    expect(await fetchRequest(bot.principal, request.id)).toMatchObject({
      status: 'ready',
      decided_by: { id: family.userId },
    });
    expect(await listEvents('request.closed', request.id)).toMatchObject([
      { data: { status: 'ready' }, audit: { user_id: family.userId } },
    ]);
  });

  test('stays open until all its scopes are granted', async () => {
    const family = createFamily(world);
    const bot = family.agent();
    const first = await askForAccount(bot.principal);
    const requestForMore = await askForAccount(bot.principal, {
      provider: 'one',
      scopes: ['read', 'admin'],
    });
    expect(requestForMore.id).not.toBe(first.id);

    await grantAccess(family.person(), first.flowId);
    expect(await fetchRequest(bot.principal, first.id)).toMatchObject({ status: 'ready' });
    expect(await fetchRequest(bot.principal, requestForMore.id)).toMatchObject({ status: 'open' });
    provider.changeAnswer = ({ body }) =>
      void Object.assign(body as object, { scope: 'read admin' });
    await grantAccess(family.person(), requestForMore.flowId);
    provider.changeAnswer = null;
    expect(await fetchRequest(bot.principal, requestForMore.id)).toMatchObject({ status: 'ready' });
  });

  test('is returned, while it is open, to another agent of the user that asks for the same or fewer scopes', async () => {
    const family = createFamily(world);
    const first = await askForAccount(family.agent('first').principal, {
      provider: 'one',
      scopes: ['read', 'write'],
    });
    const second = family.agent('second');
    const repeatedRequest = await askForAccount(second.principal);

    expect(repeatedRequest.id).toBe(first.id);
    expect(await fetchRequest(second.principal, first.id)).toMatchObject({
      also_asked_by: [{ id: second.id }],
    });
    expect(await listEvents('request.raised', first.id)).toHaveLength(1);
  });

  test('prevents, when declined, further requests of the user’s agents for this provider for a day', async () => {
    const family = createFamily(world);
    const request = await askForAccount(family.agent().principal);
    const named = await askForAccount(family.agent().principal, {
      provider: 'one',
      name: 'second',
    });
    await decline(family.person(), request.id);

    expect(await fetchRequest(family.person(), named.id)).toMatchObject({ status: 'declined' });
    await expect(
      askForAccount(family.agent('other').principal, { provider: 'one', name: 'third' }),
    ).rejects.toMatchObject({ code: 'conflict', details: { reason: 'declined' } });
    await askForAccount(family.agent('other').principal, { provider: 'two' });
  });

  test('is cancelled when the account is revoked', async () => {
    const family = createFamily(world);
    const request = await askForAccount(family.agent().principal);
    await world.gateway.deleteConnection(
      { principal: family.person(), id: request.connectionId, context },
      testDeadline(),
    );
    expect(await fetchRequest(family.person(), request.id)).toMatchObject({ status: 'cancelled' });
  });

  test('cannot be answered by an agent or another person, and is not found in another org', async () => {
    const family = createFamily(world);
    const bot = family.agent();
    const request = await askForAccount(bot.principal);
    const stranger = createFamily(world);

    for (const agent of [bot.principal, family.agent('other').principal]) {
      await expect(decline(agent, request.id)).rejects.toThrow();
      await expect(grantAccess(agent, request.flowId)).rejects.toThrow();
    }
    for (const other of [stranger.person(), stranger.person('admin')]) {
      await expect(decline(other, request.id)).rejects.toThrow();
      await expect(grantAccess(other, request.flowId)).rejects.toThrow();
    }
    await expect(fetchRequest(stranger.person(), request.id)).rejects.toMatchObject({
      code: 'not_in_your_chain',
      details: { for: 'mia' },
    });
    await expect(
      fetchRequest(family.person('admin', { orgId: uuidv7() }), request.id),
    ).rejects.toMatchObject({
      code: 'not_found',
    });
    expect(await fetchRequest(bot.principal, request.id)).toMatchObject({ status: 'open' });
  });
});

test('a person who connects an account directly creates no request', async () => {
  expect(await askForAccount(createFamily(world).person())).toMatchObject({ id: '' });
});

describe('POST /v1/requests', () => {
  const create = (
    principal: string,
    body: Parameters<World['gateway']['createRequest']>[0]['body'],
  ) => world.gateway.createRequest({ principal, body, context }, testDeadline());

  test('creates requests for accounts and for secrets, and returns those that are open already', async () => {
    const bot = createFamily(world).agent();
    const bodies = [
      { kind: 'connection', provider: 'one', scopes: ['read'], reason: 'To read mail' },
      { kind: 'secret', name: 'key', reason: 'To call it' },
    ] as const;
    for (const body of bodies) {
      const requestBody = {
        ...body,
        ...('scopes' in body ? { scopes: [...body.scopes] } : {}),
      } as never;
      const created = await create(bot.principal, requestBody);
      expect(created).toMatchObject({
        isNew: true,
        request: { kind: body.kind, status: 'open', reason: body.reason },
      });
      expect(await create(bot.principal, requestBody)).toEqual({ ...created, isNew: false });
    }
  });

  test('refuses a request for two accounts or for no account', async () => {
    const bot = createFamily(world).agent();
    for (const body of [
      { kind: 'connection', provider: 'one', template: 'github' },
      { kind: 'connection' },
    ]) {
      await expect(create(bot.principal, body as never)).rejects.toThrow();
    }
  });
});
