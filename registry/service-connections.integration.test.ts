import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';

import type { createServiceBody, updateServiceBody } from '#contracts/http/services';
import { exampleDocument } from './test-support/example-document.ts';
import type { ExampleDocument } from './test-support/example-document.ts';
import { createRegistryWorld, soon, store } from './world.testing.ts';
import type { FakeConnection, Person, RegistryWorld } from './world.testing.ts';

let world: RegistryWorld;
beforeAll(async () => {
  world = await createRegistryWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const host = 'api.example.com';
type Ways = Record<string, string[]>[];
type Change = (document: ExampleDocument) => void;

/** The example, to be reached by an account at Acme, by a token, or as `security` says. */
function textOf(security: Ways, change: Change = () => undefined): string {
  const document = exampleDocument();
  const flow = (provider: string) => ({
    type: 'oauth2',
    provider,
    flows: {
      authorizationCode: {
        authorizationUrl: `https://${provider}.example/authorize`,
        tokenUrl: `https://${provider}.example/token`,
        scopes: { 'notes.read': 'Read', 'notes.write': 'Write' },
      },
    },
  });
  Object.assign(document.components.securitySchemes, {
    account: flow('acme'),
    other: flow('globex'),
    app: { type: 'apiKey', in: 'header', name: 'X-App', default_secret_name: 'app_key' },
  });
  document.security = security;
  change(document);
  return JSON.stringify(document);
}

async function createAnn(security: Ways, fields: Parameters<RegistryWorld['person']>[0] = {}) {
  const ann = world.person({ orgId: uuidv7(), ...fields });
  const tier = fields.role === 'admin' ? ('org' as const) : ('user' as const);
  const body = { openapi: textOf(security), tier };
  await world.client.createTemplate({ principal: ann.principal, body }, soon());
  const version = { principal: ann.principal, key: 'example', tier, version: 1 };
  await world.client.publishTemplate(version, soon());
  return ann;
}

function link(owner: string, reference: string, more: Partial<FakeConnection> = {}): void {
  const connection = { provider: 'acme', status: 'active' as const, allowedHosts: [host] };
  world.vault.connections.set(`${owner} ${reference}`, { ...connection, ...more });
}

type Body = z.input<typeof createServiceBody>;
const connect = (by: Person, more: Partial<Body> = {}) =>
  world.client.createService(
    { principal: by.principal, body: { template: 'example', ...more } },
    soon(),
  );
const update = (by: Person, body: z.input<typeof updateServiceBody>) =>
  world.client.updateService({ principal: by.principal, name: 'example', body }, soon());
const get = (by: Person) =>
  world.client.getService({ principal: by.principal, name: 'example' }, soon());
const resolve = (by: Person) =>
  world.policy.resolveService({ orgId: by.orgId, userId: by.userId, name: 'example' }, soon());
const refused = (code: string, details: object = {}) =>
  expect.objectContaining({ code, details: expect.objectContaining(details) });
const openedBy = (reference: string) =>
  world.vault.allowed.filter((each) => each.reference === reference).map(({ hosts }) => hosts);

describe('a service of an account', () => {
  test('is bound to the connection that was named, which may go to its hosts from then on', async () => {
    const ann = await createAnn([{ account: [] }]);
    link(ann.userId, 'work_notes', { allowedHosts: [] });

    const service = await connect(ann, { credentials: { connection: 'work_notes' } });

    expect(service).toMatchObject({
      status: 'ready',
      credentials: { secrets: {}, connection: 'work_notes' },
    });
    expect(openedBy('work_notes')).toEqual([[host]]);
    expect(await resolve(ann)).toMatchObject({ connection: 'work_notes', secrets: {} });
  });

  test.for([
    ['itself', { name: 'my-notes' }, 'my-notes'],
    ['its template', { name: 'my-notes' }, 'example'],
    ['its provider', { name: 'my-notes' }, 'acme'],
  ] as const)('takes one that is named like %s', async ([, body, name]) => {
    const ann = await createAnn([{ account: [] }]);
    link(ann.userId, name);

    expect((await connect(ann, body)).credentials.connection).toBe(name);
  });

  test('takes none by its name alone that does not go to its hosts', async () => {
    const ann = await createAnn([{ account: [] }]);
    link(ann.userId, 'example', { allowedHosts: ['elsewhere.example'] });

    const details = { connection: 'example', hosts: [host] };
    await expect(connect(ann)).rejects.toEqual(refused('host_not_allowed', details));
    link(ann.userId, 'example', { allowedHosts: [] });
    await expect(connect(ann)).rejects.toEqual(refused('host_not_allowed', details));
  });

  test('is not connected with one that only its owner may send there', async () => {
    const ann = await createAnn([{ account: [] }]);
    link(ann.orgId, 'org/shared', { allowedHosts: [] });
    world.vault.fixed.add('org/shared');

    await expect(connect(ann, { credentials: { connection: 'org/shared' } })).rejects.toEqual(
      refused('host_not_allowed'),
    );
    await expect(get(ann)).rejects.toEqual(refused('unknown_service'));
  });

  test('needs a connection of its provider', async () => {
    const ann = await createAnn([{ account: [] }]);

    await expect(connect(ann)).rejects.toEqual(
      refused('credential_missing', { connection: 'example', provider: 'acme' }),
    );
    link(ann.userId, 'example', { provider: 'globex' });
    await expect(connect(ann)).rejects.toEqual(refused('credential_missing'));
    await expect(connect(ann, { credentials: { connection: 'example' } })).rejects.toEqual(
      refused('invalid_params', {
        issues: [expect.objectContaining({ path: 'credentials.connection' })],
      }),
    );
  });

  test("for the org takes the org's, never a person's", async () => {
    const admin = await createAnn([{ account: [] }], { role: 'admin' });
    link(admin.userId, 'example');
    const attempt = connect(admin, { tier: 'org', credentials: { connection: 'example' } });

    await expect(attempt).rejects.toEqual(refused('credential_missing'));
    link(admin.orgId, 'org/example');
    const service = await connect(admin, { tier: 'org' });
    expect(service.credentials.connection).toBe('org/example');
  });

  test('tells in its status what has become of the connection', async () => {
    const ann = await createAnn([{ account: [] }]);
    link(ann.userId, 'example');
    await connect(ann);

    const expected = [
      ['active', 'ready'],
      ['needs_reauth', 'needs_reauth'],
      ['pending', 'needs_credentials'],
      ['revoked', 'needs_credentials'],
    ] as const;
    for (const [status, told] of expected) {
      link(ann.userId, 'example', { status });
      expect((await get(ann)).status).toBe(told);
    }
    world.vault.connections.delete(`${ann.userId} example`);
    expect((await get(ann)).status).toBe('needs_credentials');
  });
});

describe('a service that takes an account or a token', () => {
  const either: Ways = [{ account: [] }, { token: [] }];

  test('takes the first that is there', async () => {
    const ann = await createAnn(either);
    store(world.vault, ann.userId, 'example_token', [host]);

    const byToken = await connect(ann);
    expect(byToken.credentials).toEqual({ secrets: { token: 'example_token' }, connection: null });
    link(ann.userId, 'second');
    const byAccount = await connect(ann, { name: 'second' });
    expect(byAccount.credentials).toEqual({ secrets: {}, connection: 'second' });
  });

  test('is moved from one to the other, and shows in a search what it uses', async () => {
    const ann = await createAnn(either);
    store(world.vault, ann.userId, 'example_token', [host]);
    link(ann.userId, 'notes', { allowedHosts: [] });
    await connect(ann);

    const moved = await update(ann, { credentials: { connection: 'notes' } });
    expect(moved.credentials).toEqual({ secrets: {}, connection: 'notes' });
    const find = async () => {
      const asked = { principal: ann.principal, query: 'list notes', limit: 1, catalog: false };
      return (await world.client.search(asked, soon())).items[0]?.auth;
    };
    expect(await find()).toEqual({ type: 'oauth2', connected: true });
    link(ann.userId, 'notes', { status: 'needs_reauth' });
    expect(await find()).toEqual({ type: 'oauth2', connected: false });

    const back = await update(ann, { credentials: { secrets: { token: 'example_token' } } });
    expect(back.credentials).toEqual({ secrets: { token: 'example_token' }, connection: null });
    expect(await find()).toEqual({ type: 'secret', connected: true });
  });

  test('keeps what it uses when other things change', async () => {
    const ann = await createAnn(either);
    link(ann.userId, 'example');
    await connect(ann);

    const changed = await update(ann, { auto_allow_reads: false });
    expect(changed.credentials.connection).toBe('example');
  });
});

describe('ways in that go together', () => {
  test('an account and a secret are both needed', async () => {
    const ann = await createAnn([{ account: [], app: [] }]);
    link(ann.userId, 'example');

    await expect(connect(ann)).rejects.toEqual(
      refused('credential_missing', { secret: 'app_key' }),
    );
    store(world.vault, ann.userId, 'app_key', [host]);
    expect((await connect(ann)).credentials).toEqual({
      secrets: { app: 'app_key' },
      connection: 'example',
    });
  });

  test('accounts at two providers are not to be had together', async () => {
    const ann = await createAnn([{ account: [], other: [] }]);
    link(ann.userId, 'example');

    await expect(connect(ann)).rejects.toEqual(refused('credential_missing'));
  });

  test('a connection is refused where none is taken', async () => {
    const ann = await createAnn([{ token: [] }]);
    link(ann.userId, 'example');

    await expect(connect(ann, { credentials: { connection: 'example' } })).rejects.toEqual(
      refused('invalid_params'),
    );
  });
});

describe('an upgrade of a service of an account', () => {
  const release = async (by: Person, change: Change) => {
    const body = { openapi: textOf([{ account: [] }], change), version: 1 };
    const template = { principal: by.principal, key: 'example', tier: 'user' as const };
    await world.client.updateTemplate({ ...template, body }, soon());
    await world.client.publishTemplate({ ...template, version: 2 }, soon());
  };
  const upgrade = (by: Person, body: object = {}) =>
    world.client.upgradeService({ principal: by.principal, name: 'example', body }, soon());

  test('keeps its connection', async () => {
    const ann = await createAnn([{ account: [] }]);
    link(ann.userId, 'notes');
    await connect(ann, { credentials: { connection: 'notes' } });
    await release(ann, (document) => (document.info.title = 'Example 2'));

    expect((await upgrade(ann)).service.credentials.connection).toBe('notes');
  });

  test('to other hosts takes it along only when it is named again', async () => {
    const ann = await createAnn([{ account: [] }]);
    link(ann.userId, 'notes');
    await connect(ann, { credentials: { connection: 'notes' } });
    await release(ann, (document) => (document.servers = [{ url: 'https://api2.example.com' }]));

    await expect(upgrade(ann)).rejects.toEqual(
      refused('host_not_allowed', { connection: 'notes', hosts: ['api2.example.com'] }),
    );
    const named = await upgrade(ann, { credentials: { connection: 'notes' } });
    expect(named.service).toMatchObject({ hosts: ['api2.example.com'] });
    expect(openedBy('notes')).toContainEqual(['api2.example.com']);
  });
});
