import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';

import { createClient } from '#bus';
import { registry } from '#contracts/bus/registry';
import type { createServiceBody, updateServiceBody } from '#contracts/http/services';
import { exampleDocument } from '../compiler/domain/example-document.testing.ts';
import type { ExampleDocument } from '../compiler/domain/example-document.testing.ts';
import { createRegistryWorld, testDeadline, storeSecret } from '../world.testing.ts';
import type { FakeConnection, Person, RegistryWorld } from '../world.testing.ts';

let world: RegistryWorld;
beforeAll(async () => {
  world = await createRegistryWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const host = 'api.example.com';
type SecurityAlternatives = Record<string, string[]>[];
type Change = (document: ExampleDocument) => void;

/**
 * The text of the example template. It accepts an OAuth connection to Acme or a token, unless
 * `security` says otherwise.
 */
function textOf(security: SecurityAlternatives, change: Change = () => undefined): string {
  const document = exampleDocument();
  const createFlow = (provider: string) => ({
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
    account: createFlow('acme'),
    other: createFlow('globex'),
    app: { type: 'apiKey', in: 'header', name: 'X-App', default_secret_name: 'app_key' },
  });
  document.security = security;
  change(document);
  return JSON.stringify(document);
}

async function createAnn(
  security: SecurityAlternatives,
  fields: Parameters<RegistryWorld['person']>[0] = {},
) {
  const ann = world.person({ orgId: uuidv7(), ...fields });
  const tier = fields.role === 'admin' ? ('org' as const) : ('user' as const);
  const body = { openapi: textOf(security), tier };
  await world.client.createTemplate({ principal: ann.principal, body }, testDeadline());
  const version = { principal: ann.principal, key: 'example', tier, version: 1 };
  await world.client.publishTemplate(version, testDeadline());
  return ann;
}

function storeConnection(
  owner: string,
  reference: string,
  more: Partial<FakeConnection> = {},
): void {
  const connection = { provider: 'acme', status: 'active' as const, allowedHosts: [host] };
  world.vault.connections.set(`${owner} ${reference}`, { ...connection, ...more });
}

type Body = z.input<typeof createServiceBody>;
const connectService = (by: Person, more: Partial<Body> = {}) =>
  world.client.createService(
    { principal: by.principal, body: { template: 'example', ...more } },
    testDeadline(),
  );
const update = (by: Person, body: z.input<typeof updateServiceBody>) =>
  world.client.updateService({ principal: by.principal, name: 'example', body }, testDeadline());
const get = (by: Person) =>
  world.client.getService({ principal: by.principal, name: 'example' }, testDeadline());
const resolve = (by: Person) =>
  world.policy.resolveService(
    { orgId: by.orgId, userId: by.userId, name: 'example' },
    testDeadline(),
  );
const expectedRefusal = (code: string, details: object = {}) =>
  expect.objectContaining({ code, details: expect.objectContaining(details) });
const hostsAllowedFor = (reference: string) =>
  world.vault.allowRequests
    .filter((each) => each.reference === reference)
    .map(({ hosts }) => hosts);

describe('a service with an OAuth connection', () => {
  test('uses the connection that the caller names, which may then go to the hosts of the service', async () => {
    const ann = await createAnn([{ account: [] }]);
    storeConnection(ann.userId, 'work_notes', { allowedHosts: [] });

    const service = await connectService(ann, { credentials: { connection: 'work_notes' } });

    expect(service).toMatchObject({
      status: 'ready',
      credentials: { secrets: {}, connection: 'work_notes' },
    });
    expect(hostsAllowedFor('work_notes')).toEqual([[host]]);
    expect(await resolve(ann)).toMatchObject({ connection: 'work_notes', secrets: {} });
  });

  test.for([
    ['the service', { name: 'my-notes' }, 'my-notes'],
    ['its template', { name: 'my-notes' }, 'example'],
    ['its provider', { name: 'my-notes' }, 'acme'],
  ] as const)(
    'uses, when the caller names no connection, a connection that is named like %s',
    async ([, body, name]) => {
      const ann = await createAnn([{ account: [] }]);
      storeConnection(ann.userId, name);

      expect((await connectService(ann, body)).credentials.connection).toBe(name);
    },
  );

  test('does not use a connection by its name when the connection may not go to its hosts', async () => {
    const ann = await createAnn([{ account: [] }]);
    storeConnection(ann.userId, 'example', { allowedHosts: ['elsewhere.example'] });

    const details = { connection: 'example', hosts: [host] };
    await expect(connectService(ann)).rejects.toEqual(expectedRefusal('host_not_allowed', details));
    storeConnection(ann.userId, 'example', { allowedHosts: [] });
    await expect(connectService(ann)).rejects.toEqual(expectedRefusal('host_not_allowed', details));
  });

  test('is refused when the caller may not allow the connection to go to its hosts', async () => {
    const ann = await createAnn([{ account: [] }]);
    storeConnection(ann.orgId, 'org/shared', { allowedHosts: [] });
    world.vault.fixedReferences.add('org/shared');

    await expect(
      connectService(ann, { credentials: { connection: 'org/shared' } }),
    ).rejects.toEqual(expectedRefusal('host_not_allowed'));
    await expect(get(ann)).rejects.toEqual(expectedRefusal('unknown_service'));
  });

  test('requires a connection to the provider of its template', async () => {
    const ann = await createAnn([{ account: [] }]);

    await expect(connectService(ann)).rejects.toEqual(
      expectedRefusal('credential_missing', { connection: 'example', provider: 'acme' }),
    );
    storeConnection(ann.userId, 'example', { provider: 'globex' });
    await expect(connectService(ann)).rejects.toEqual(expectedRefusal('credential_missing'));
    await expect(connectService(ann, { credentials: { connection: 'example' } })).rejects.toEqual(
      expectedRefusal('invalid_params', {
        issues: [expect.objectContaining({ path: 'credentials.connection' })],
      }),
    );
  });

  test('stays ready when the provider refuses the connection, and says so', async () => {
    const ann = await createAnn([{ account: [] }]);
    storeConnection(ann.userId, 'example');
    expect(await connectService(ann)).not.toHaveProperty('refused');
    const refusedAt = '2026-01-02T03:04:05.000Z';
    storeConnection(ann.userId, 'example', { refusedAt });
    const { items } = await world.client.listServices(
      { principal: ann.principal, page: { limit: 10, cursor: null } },
      testDeadline(),
    );
    const shownCredentials = {
      status: 'ready',
      refused: [{ kind: 'connection', name: 'example', refused_at: refusedAt }],
    };
    expect([await get(ann), ...items]).toMatchObject([shownCredentials, shownCredentials]);
  });

  test('uses only connections of the org when the service belongs to the org', async () => {
    const admin = await createAnn([{ account: [] }], { role: 'admin' });
    storeConnection(admin.userId, 'example');
    const attempt = connectService(admin, { tier: 'org', credentials: { connection: 'example' } });

    await expect(attempt).rejects.toEqual(expectedRefusal('credential_missing'));
    storeConnection(admin.orgId, 'org/example');
    const service = await connectService(admin, { tier: 'org' });
    expect(service.credentials.connection).toBe('org/example');
  });

  test('reports the state of the connection in its status', async () => {
    const ann = await createAnn([{ account: [] }]);
    storeConnection(ann.userId, 'example');
    await connectService(ann);

    const expected = [
      ['active', 'ready'],
      ['needs_reauth', 'needs_reauth'],
      ['pending', 'needs_credentials'],
      ['revoked', 'needs_credentials'],
    ] as const;
    for (const [status, told] of expected) {
      storeConnection(ann.userId, 'example', { status });
      expect((await get(ann)).status).toBe(told);
    }
    world.vault.connections.delete(`${ann.userId} example`);
    expect((await get(ann)).status).toBe('needs_credentials');
  });
});

describe('a service that can be connected as a person and as a bot of one provider', () => {
  const asPersonOrBot: SecurityAlternatives = [{ account: [] }, { bot: [] }];
  const createBotAnn = async () => {
    const ann = world.person({ orgId: uuidv7() });
    const openapi = textOf(asPersonOrBot, ({ components: { securitySchemes } }) => {
      const account = securitySchemes['account'] as Record<string, unknown>;
      securitySchemes['bot'] = { ...account, acts_as: 'bot' };
    });
    const tier = 'user' as const;
    await world.client.createTemplate(
      { principal: ann.principal, body: { openapi, tier } },
      testDeadline(),
    );
    const version = { principal: ann.principal, key: 'example', tier, version: 1 };
    await world.client.publishTemplate(version, testDeadline());
    return ann;
  };

  test('records by which of them it is connected, and takes no connection of the other kind', async () => {
    const ann = await createBotAnn();
    storeConnection(ann.userId, 'example', { actsAs: 'bot' });
    storeConnection(ann.userId, 'mine', { actsAs: null });

    await connectService(ann);
    expect(await resolve(ann)).toMatchObject({ connection: 'example', schemes: ['bot'] });
    await update(ann, { credentials: { connection: 'mine' } });
    expect(await resolve(ann)).toMatchObject({ connection: 'mine', schemes: ['account'] });
    storeConnection(ann.userId, 'app', { actsAs: 'app' });
    await expect(update(ann, { credentials: { connection: 'app' } })).rejects.toEqual(
      expectedRefusal('invalid_params', {
        issues: [expect.objectContaining({ path: 'credentials.connection' })],
      }),
    );
  });

  test('gets a connection for the named security scheme, or else for the first scheme that uses OAuth', async () => {
    const ann = await createBotAnn();
    const executor = createClient(await world.environment.connect('executor'), registry);
    const describeOauth = (scheme?: string) =>
      executor.describeTemplateOauth(
        { principal: ann.principal, key: 'example', isForOrg: false, ...(scheme && { scheme }) },
        testDeadline(),
      );

    expect(await describeOauth()).toMatchObject({ provider: 'acme', actsAs: null });
    expect(await describeOauth('bot')).toMatchObject({ provider: 'acme', actsAs: 'bot' });
    await expect(describeOauth('token')).rejects.toEqual(expectedRefusal('conflict'));
  });
});

describe('a service that accepts either a connection or a secret', () => {
  const connectionOrSecret: SecurityAlternatives = [{ account: [] }, { token: [] }];

  test('uses the secret while there is no connection, and the connection once there is one', async () => {
    const ann = await createAnn(connectionOrSecret);
    storeSecret(world.vault, ann.userId, 'example_token', [host]);

    const serviceByToken = await connectService(ann);
    expect(serviceByToken.credentials).toEqual({
      secrets: { token: 'example_token' },
      connection: null,
    });
    storeConnection(ann.userId, 'second');
    const serviceByAccount = await connectService(ann, { name: 'second' });
    expect(serviceByAccount.credentials).toEqual({ secrets: {}, connection: 'second' });
  });

  test('can switch between connection and secret, and searches show the current credential', async () => {
    const ann = await createAnn(connectionOrSecret);
    storeSecret(world.vault, ann.userId, 'example_token', [host]);
    storeConnection(ann.userId, 'notes', { allowedHosts: [] });
    await connectService(ann);

    const movedService = await update(ann, { credentials: { connection: 'notes' } });
    expect(movedService.credentials).toEqual({ secrets: {}, connection: 'notes' });
    const findAuth = async () => {
      const searchRequest = {
        principal: ann.principal,
        query: 'list notes',
        limit: 1,
        catalog: false,
      };
      return (await world.client.search(searchRequest, testDeadline())).items[0]?.auth;
    };
    expect(await findAuth()).toEqual({ type: 'oauth2', connected: true });
    storeConnection(ann.userId, 'notes', { status: 'needs_reauth' });
    expect(await findAuth()).toEqual({ type: 'oauth2', connected: false });

    const serviceWithSecret = await update(ann, {
      credentials: { secrets: { token: 'example_token' } },
    });
    expect(serviceWithSecret.credentials).toEqual({
      secrets: { token: 'example_token' },
      connection: null,
    });
    expect(await findAuth()).toEqual({ type: 'secret', connected: true });
  });

  test('keeps its credentials when other fields change', async () => {
    const ann = await createAnn(connectionOrSecret);
    storeConnection(ann.userId, 'example');
    await connectService(ann);

    const updatedService = await update(ann, { auto_allow_reads: false });
    expect(updatedService.credentials.connection).toBe('example');
  });
});

describe('a service whose template needs several security schemes together', () => {
  test('can be connected only when both the connection and the secret exist', async () => {
    const ann = await createAnn([{ account: [], app: [] }]);
    storeConnection(ann.userId, 'example');

    await expect(connectService(ann)).rejects.toEqual(
      expectedRefusal('credential_missing', { secret: 'app_key' }),
    );
    storeSecret(world.vault, ann.userId, 'app_key', [host]);
    expect((await connectService(ann)).credentials).toEqual({
      secrets: { app: 'app_key' },
      connection: 'example',
    });
  });

  test("does not let a member's own template decide what a key of the org signs", async () => {
    const ann = world.person({ orgId: uuidv7() });
    const openapi = textOf([{ machine: [] }], ({ components }) => {
      components.securitySchemes['machine'] = {
        type: 'oauth2',
        default_secret_name: 'machine',
        parts: [{ name: 'private_key', label: 'Key' }],
        grant: { type: 'jwt_bearer', issuer: 'machine', subject: 'boss', audience: '{origin}' },
        flows: { clientCredentials: { tokenUrl: '/token', scopes: {} } },
      };
    });
    const { principal } = ann;
    const tier = 'user' as const;
    await world.client.createTemplate({ principal, body: { openapi, tier } }, testDeadline());
    const version = { principal, key: 'example', tier, version: 1 };
    await world.client.publishTemplate(version, testDeadline());
    storeSecret(world.vault, ann.orgId, 'org/machine', [host]);
    storeSecret(world.vault, ann.userId, 'mine', [host]);

    const named = (machine: string) =>
      connectService(ann, { credentials: { secrets: { machine } } });
    const details = { secret: 'org/machine' };
    await expect(named('org/machine')).rejects.toEqual(expectedRefusal('forbidden', details));
    expect((await named('mine')).credentials.secrets).toEqual({ machine: 'mine' });
  });

  test('is refused when two connections would both use the header Authorization', async () => {
    await expect(createAnn([{ account: [], other: [] }])).rejects.toMatchObject({
      code: 'template_invalid',
      details: { report: { errors: [{ code: 'security_scheme_invalid' }] } },
    });
  });

  test('refuses a connection when no scheme uses one', async () => {
    const ann = await createAnn([{ token: [] }]);
    storeConnection(ann.userId, 'example');

    await expect(connectService(ann, { credentials: { connection: 'example' } })).rejects.toEqual(
      expectedRefusal('invalid_params'),
    );
  });
});

describe('upgrading a service with an OAuth connection', () => {
  const publishNextVersion = async (by: Person, change: Change) => {
    const body = { openapi: textOf([{ account: [] }], change), version: 1 };
    const template = { principal: by.principal, key: 'example', tier: 'user' as const };
    await world.client.updateTemplate({ ...template, body }, testDeadline());
    await world.client.publishTemplate({ ...template, version: 2 }, testDeadline());
  };
  const upgrade = (by: Person, body: object = {}) =>
    world.client.upgradeService({ principal: by.principal, name: 'example', body }, testDeadline());

  test('keeps the connection', async () => {
    const ann = await createAnn([{ account: [] }]);
    storeConnection(ann.userId, 'notes');
    await connectService(ann, { credentials: { connection: 'notes' } });
    await publishNextVersion(ann, (document) => (document.info.title = 'Example 2'));

    expect((await upgrade(ann)).service.credentials.connection).toBe('notes');
  });

  test('requires naming the connection again when the new version has other hosts', async () => {
    const ann = await createAnn([{ account: [] }]);
    storeConnection(ann.userId, 'notes');
    await connectService(ann, { credentials: { connection: 'notes' } });
    await publishNextVersion(
      ann,
      (document) => (document.servers = [{ url: 'https://api2.example.com' }]),
    );

    await expect(upgrade(ann)).rejects.toEqual(
      expectedRefusal('host_not_allowed', { connection: 'notes', hosts: ['api2.example.com'] }),
    );
    const named = await upgrade(ann, { credentials: { connection: 'notes' } });
    expect(named.service).toMatchObject({ hosts: ['api2.example.com'] });
    expect(hostsAllowedFor('notes')).toContainEqual(['api2.example.com']);
  });
});
