import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { CredentialDerivation } from '#contracts/credential-derivation';
import type { Call } from '#contracts/call';
import type { ErrorCode } from '#errors';
import { grantAnswerOf, startTokenEndpoint } from '../derived-credentials/providers.testing.ts';
import { canary, context, createWorld, options, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

let world: World;
let endpoint: Awaited<ReturnType<typeof startTokenEndpoint>>;
/** The token that the token endpoint issues next, and the tokens that the upstream accepts. */
let nextToken: string;
/** The error of the token endpoint; undefined while it issues tokens. */
let refusedWith: string | undefined;
beforeAll(async () => {
  world = await createWorld();
  endpoint = await startTokenEndpoint(() =>
    refusedWith === undefined
      ? grantAnswerOf(nextToken)
      : { status: 400, body: { error: refusedWith } },
  );
});
afterAll(async () => {
  await endpoint[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});
beforeEach(() => {
  nextToken = canary();
  refusedWith = undefined;
  endpoint.requests.length = 0;
  world.upstream.reset();
  world.upstream.answer(({ headers }, reply) => {
    reply.setHeader('content-type', 'application/json');
    reply.end(JSON.stringify({ echo: headers.authorization, secret: clientSecret, id: 'machine' }));
  });
});

const clientSecret = canary();
let secretCount = 0;

async function storeSecret(hosts = [world.upstream.host, endpoint.host], value?: object) {
  const name = `app-${(secretCount += 1)}`;
  const parts = value ?? { client_id: 'machine', client_secret: clientSecret };
  const body = { name, value: JSON.stringify(parts), allowed_hosts: hosts };
  const { id } = await world.gateway.createSecret({ principal: world.admin, body }, testDeadline());
  return { id, name };
}

function injectionOf({ id, name }: { id: string; name: string }) {
  const derivation: CredentialDerivation = {
    kind: 'client_credentials',
    authentication: 'client_secret_post',
    tokenUrl: endpoint.tokenUrl,
    parameters: {},
    body: 'form',
    scopes: [],
    required: ['client_id', 'client_secret'],
    secret: ['client_secret'],
  };
  return {
    kind: 'secret' as const,
    credentialId: id,
    credentialName: name,
    in: 'header' as const,
    key: 'Authorization',
    prefix: 'Bearer ',
    encoding: 'derived' as const,
    derivation,
  };
}

async function execute(call: Call, secret: { id: string; name: string }) {
  const permit = world.permitOf(call, { injections: [injectionOf(secret)] });
  const done = await world.gateway.execute({ permit, call, options, context }, testDeadline());
  if (done.kind !== 'called') throw new Error('suspended');
  return done.result;
}
const createReadCall = () => world.actionCall('get', { id: 'a' });
const createWriteCall = () => world.actionCall('create', { title: 'a', password: 'b', room: 'c' });
const refusalWith = (code: ErrorCode, details: object = {}) =>
  expect.objectContaining({ code, details: expect.objectContaining(details) });

describe('a call with a token that is derived from a secret', () => {
  test('sends the token, and removes the token and the secret parts from the answer', async () => {
    const secret = await storeSecret();
    for (const call of [createReadCall(), createWriteCall()]) {
      // oxlint-disable-next-line no-await-in-loop -- the second call uses the token of the first
      const result = await execute(call, secret);
      expect(result.body).toEqual({
        echo: 'Bearer [REDACTED]',
        secret: '[REDACTED]',
        // Parts of the credential that are not secret stay in the answer.
        id: 'machine',
      });
    }
    expect(world.upstream.hits.map(({ headers }) => headers.authorization)).toEqual([
      `Bearer ${nextToken}`,
      `Bearer ${nextToken}`,
    ]);
    expect(endpoint.requests).toHaveLength(1);
    const form = new URLSearchParams(endpoint.requests[0]?.body);
    expect(form.get('grant_type')).toBe('client_credentials');
    expect(form.get('client_secret')).toBe(clientSecret);
  });

  test('requests no token when the permit does not say how to derive one', async () => {
    const secret = await storeSecret();
    for (const call of [createReadCall(), createWriteCall()]) {
      const { derivation: _, ...injection } = injectionOf(secret);
      const permit = world.permitOf(call, { injections: [injection] });
      const request = { permit, call, options, context };
      // oxlint-disable-next-line no-await-in-loop -- one call after the other
      await expect(world.gateway.execute(request, testDeadline())).rejects.toEqual(
        refusalWith('unavailable', { component: 'policy' }),
      );
    }
    expect(world.upstream.hits).toEqual([]);
  });

  test('requests no token when the secret may not go to the host of the token endpoint', async () => {
    const secret = await storeSecret([world.upstream.host]);
    await expect(execute(createReadCall(), secret)).rejects.toEqual(
      refusalWith('host_not_allowed', { secret: secret.name, host: endpoint.host }),
    );
    expect(endpoint.requests).toEqual([]);
    expect(world.upstream.hits).toEqual([]);
  });

  test('requests no token when the secret may not go to the host of the call', async () => {
    const secret = await storeSecret([endpoint.host]);
    await expect(execute(createReadCall(), secret)).rejects.toEqual(
      refusalWith('host_not_allowed', { host: world.upstream.host }),
    );
    expect(endpoint.requests).toEqual([]);
  });

  test('records nothing and sends nothing when the secret lacks a part', async () => {
    const secret = await storeSecret(undefined, { client_id: canary() });
    for (const call of [createReadCall(), createWriteCall()]) {
      // oxlint-disable-next-line no-await-in-loop -- one call after the other
      await expect(execute(call, secret)).rejects.toEqual(
        refusalWith('credential_missing', { secret: secret.name, parts: ['client_secret'] }),
      );
    }
    expect(world.upstream.hits).toEqual([]);
  });

  test('gets a new token as soon as a new value of the secret is stored', async () => {
    const secret = await storeSecret();
    await execute(createReadCall(), secret);
    nextToken = canary();
    const body = {
      name: secret.name,
      value: JSON.stringify({ client_id: 'machine', client_secret: clientSecret }),
    };
    await world.gateway.createSecret({ principal: world.admin, body }, testDeadline());
    await execute(createReadCall(), secret);
    expect(world.upstream.hits.at(-1)?.headers.authorization).toBe(`Bearer ${nextToken}`);
  });

  test('is not sent again when the upstream refuses a token that was just issued', async () => {
    const secret = await storeSecret();
    world.upstream.answer((_hit, reply) => {
      reply.statusCode = 401;
      reply.end();
    });
    expect(await execute(createReadCall(), secret)).toMatchObject({ status_code: 401 });
    expect(world.upstream.hits).toHaveLength(1);
    expect(endpoint.requests).toHaveLength(1);
  });
});

describe('a secret that the token endpoint refuses', () => {
  const refusedAt = async ({ id }: { id: string }) =>
    (await world.gateway.getSecret({ principal: world.admin, id }, testDeadline())).refused_at;
  const storeAgain = async ({ name }: { name: string }) => {
    const value = JSON.stringify({ client_id: 'machine', client_secret: clientSecret });
    await world.gateway.createSecret(
      { principal: world.admin, body: { name, value } },
      testDeadline(),
    );
  };
  beforeEach(() => world.sql`delete from executor.outbox`);

  test.each([
    ['read', createReadCall],
    ['write', createWriteCall],
  ])('is marked as refused by a %s, which is not sent to the service', async (_kind, make) => {
    const secret = await storeSecret();
    refusedWith = 'invalid_client';
    for (let round = 0; round < 2; round += 1) {
      // oxlint-disable-next-line no-await-in-loop -- the second refusal is the remembered one
      await expect(execute(make(), secret)).rejects.toEqual(
        refusalWith('reauth_required', { secret: secret.name, reason: 'invalid_client' }),
      );
    }
    expect(world.upstream.hits).toEqual([]);
    expect(endpoint.requests).toHaveLength(1);
    const markedAt = await refusedAt(secret);
    const [event, ...others] = await world.outbox('credential.refused');
    expect(others).toEqual([]);
    expect(event).toMatchObject({
      audience: [world.userId],
      data: { kind: 'secret', id: secret.id, name: secret.name, at: markedAt },
    });
  });

  test('is no longer marked as refused after the next successful call', async () => {
    const secret = await storeSecret();
    refusedWith = 'invalid_grant';
    await expect(execute(createReadCall(), secret)).rejects.toEqual(refusalWith('reauth_required'));
    expect(await refusedAt(secret)).toEqual(expect.any(String));
    refusedWith = undefined;
    await storeAgain(secret);
    expect(await refusedAt(secret)).toBeNull();
    await execute(createReadCall(), secret);
    expect(await refusedAt(secret)).toBeNull();
    expect(await world.outbox('credential.accepted')).toHaveLength(1);
  });

  test('is not marked as refused when the endpoint refuses only the scopes', async () => {
    const secret = await storeSecret();
    refusedWith = 'invalid_scope';
    await expect(execute(createReadCall(), secret)).rejects.toEqual(refusalWith('reauth_required'));
    expect(await refusedAt(secret)).toBeNull();
    expect(await world.outbox('credential.refused')).toEqual([]);
  });
});

test('a JSON secret is never sent whole as the plain value of a service', async () => {
  const secret = await storeSecret();
  const injection = { ...injectionOf(secret), encoding: 'raw' as const, derivation: undefined };
  for (const call of [createReadCall(), createWriteCall()]) {
    const permit = world.permitOf(call, { injections: [injection] });
    // oxlint-disable-next-line no-await-in-loop -- one call after the other
    await expect(
      world.gateway.execute({ permit, call, options, context }, testDeadline()),
    ).rejects.toEqual(refusalWith('credential_missing', { secret: secret.name }));
  }
  expect(world.upstream.hits).toEqual([]);
});

test('a single part of a JSON secret is removed from the answer too', async () => {
  const parts = { client_secret: canary(), kind: 'app' };
  const name = `app-${(secretCount += 1)}`;
  const body = { name, value: JSON.stringify(parts), allowed_hosts: [world.upstream.host] };
  const secret = await world.gateway.createSecret({ principal: world.admin, body }, testDeadline());
  world.upstream.answer((_hit, reply) => {
    reply.setHeader('content-type', 'application/json');
    reply.end(JSON.stringify(parts));
  });
  const call = world.rawCall({ target: `${world.upstream.baseUrl}/echo` });
  const permit = world.permitOf(call, { secrets: [{ id: secret.id, name }] });
  const done = await world.gateway.execute({ permit, call, options, context }, testDeadline());
  expect(done).toMatchObject({
    result: { body: { client_secret: '[REDACTED]', kind: 'app' } },
  });
});
