import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { z } from 'zod';

import { ownProvider } from '#contracts/http/oauth-apps';
import { startTestProvider } from '../../test/support/oauth-provider.ts';
import type { TestProvider } from '../../test/support/oauth-provider.ts';
import { canary, context, createWorld, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

const cleanup = new AsyncDisposableStack();
let world: World;
let provider: TestProvider;
beforeAll(async () => {
  world = cleanup.use(await createWorld());
  provider = cleanup.use(await startTestProvider());
});
afterAll(() => cleanup.disposeAsync());
beforeEach(() => {
  provider.hits.length = 0;
  provider.changeAnswer = null;
});

const credential = { kind: 'session' as const, id: uuidv7(), clientId: null };
const createBrowser = () => world.principalOf({ role: 'admin', credential });
type Definition = z.input<typeof ownProvider>;
const minimalDefinition = (): Definition => ({
  title: 'Own',
  authorization_url: `${provider.issuer}/authorize`,
  token_url: `${provider.issuer}/token`,
  hosts: ['api.example.com'],
});

async function defineProvider(more: Partial<Definition>, variables?: Record<string, string>) {
  const body = {
    client_id: 'gateway',
    client_secret: canary(),
    definition: ownProvider.parse({ ...minimalDefinition(), ...more }),
    ...(variables === undefined ? {} : { variables }),
  };
  return world.gateway.putOauthApp(
    { principal: createBrowser(), provider: 'own', body, context },
    testDeadline(),
  );
}

async function connect(name = 'own') {
  const body = { provider: 'own', name, scopes: ['read', 'write'] };
  const askedConnection = await world.gateway.createConnection(
    { principal: createBrowser(), body, context },
    testDeadline(),
  );
  const id = askedConnection.authorization_url.split('/').at(-1) ?? '';
  const flow = { principal: createBrowser(), id, context };
  const authorizationUrl = new URL(
    (await world.gateway.beginConnectionFlow(flow, testDeadline())).url,
  );
  const reply = await fetch(authorizationUrl, { redirect: 'manual' });
  const { search } = new URL(reply.headers.get('location') ?? '');
  const { connection } = await world.gateway.finishConnectionFlow(
    { principal: createBrowser(), provider: 'own', query: search.slice(1), context },
    testDeadline(),
  );
  return { asking: authorizationUrl, connection };
}

test('a provider that an org defines can have the same deviations from the standard as a built-in one', async () => {
  await defineProvider(
    {
      scope_separator: ',',
      scope_parameter: 'user_scope',
      authorize_parameters: { duration: 'permanent' },
      token_request: 'json',
      token_headers: { 'x-version': '2026-01-01' },
      token_parameters: { audience: 'own' },
      token_answer: { at: 'data', expires_in: 600 },
      account: { url: 'answer', id: ['team', 'data.user'], label: ['data.name'] },
      host_of_answer: { at: 'home', suffixes: ['example.com'] },
      hosts: ['{tenant}.api.example.com'],
      variables: { tenant: { description: 'The tenant.' } },
    },
    { tenant: 'acme' },
  );
  provider.changeAnswer = (response) => {
    response.body = {
      team: 't1',
      home: 'https://eu.example.com/',
      data: { ...(response.body as object), user: 'u1', name: 'Ann' },
    };
  };
  const { asking, connection } = await connect();
  expect(Object.fromEntries(asking.searchParams)).toMatchObject({
    user_scope: 'read,write',
    duration: 'permanent',
  });
  const { headers, body } = provider.hits.findLast(({ path }) => path === '/token')!;
  expect(headers).toMatchObject({ 'content-type': 'application/json', 'x-version': '2026-01-01' });
  expect(JSON.parse(body)).toMatchObject({ audience: 'own' });
  expect(connection).toMatchObject({ account_label: 'Ann' });
  expect(new Set(connection.hosts)).toEqual(new Set(['acme.api.example.com', 'eu.example.com']));
});

test('a provider that an org defines can have opaque scopes', async () => {
  const describe = () =>
    world.policy.describeConnections(
      { orgId: world.orgId, userId: world.userId, names: ['opaque'] },
      testDeadline(),
    );
  await defineProvider({});
  provider.changeAnswer = (response) => {
    Object.assign(response.body as object, { scope: 'all' });
  };
  await connect('opaque');
  expect((await describe()).connections[0]).not.toHaveProperty('hasOpaqueScopes');
  await defineProvider({ scopes: 'opaque' });
  expect((await describe()).connections[0]).toMatchObject({ hasOpaqueScopes: true });
  const { connection } = await connect('opaque');
  expect(connection).toMatchObject({
    granted_scopes: ['read', 'write'],
    reported_scopes: ['all'],
  });
  await defineProvider({});
});

test('addresses that an admin filled in are tried without a credential, and problems are warnings', async () => {
  const variables = { path: { description: 'The path.' } };
  const define = (path: string, origin = provider.issuer) =>
    defineProvider(
      {
        variables,
        authorization_url: `${origin}/{path}`,
        token_url: `${provider.issuer}/token`,
      },
      { path },
    );
  expect((await define('authorize')).warnings).toBeUndefined();
  const atToken = provider.hits.filter(({ path }) => path === '/token');
  expect(atToken).toMatchObject([{ method: 'GET', body: '' }]);
  expect(atToken[0]?.headers.authorization).toBeUndefined();

  const url = `${provider.issuer}/elsewhere`;
  expect((await define('elsewhere')).warnings).toMatchObject([
    { url, message: expect.stringContaining('404') },
  ]);
  const refused = await define('authorize', 'https://192.168.7.7');
  expect(refused).toMatchObject({
    source: 'org',
    warnings: [{ message: expect.stringContaining('EGRESS_ALLOW') }],
  });

  provider.hits.length = 0;
  expect((await defineProvider({})).warnings).toBeUndefined();
  expect(provider.hits).toEqual([]);
});

test.for<[what: string, more: Partial<Definition>, variables?: Record<string, string>]>([
  [
    'a variable whose value would be another address',
    { variables: { tenant: { description: '' } }, hosts: ['{tenant}.example.com'] },
    { tenant: 'evil.example/' },
  ],
  [
    'a variable whose value makes no host',
    {
      authorization_url: 'https://{domain}/authorize',
      variables: { domain: { description: 'The domain.' } },
    },
    { domain: '1.2.3.256' },
  ],
  ['a variable without a value', { variables: { tenant: { description: '' } } }],
  ['a refresh URL without https', { refresh_url: 'http://id.example.com/refresh' }],
  [
    'an account URL without https',
    { account: { url: 'http://id.example.com/me', id: 'id', label: ['id'] } },
  ],
  ['a host that is none', { hosts: ['{tenant}/x'] }],
])('the definition of an org is refused with %s', async ([, more, variables]) => {
  await expect(defineProvider(more, variables)).rejects.toMatchObject({ code: 'invalid_params' });
});

test.for<[what: string, more: Partial<Definition>]>([
  ['a header that the gateway writes', { token_headers: { Authorization: 'x' } }],
  ...[
    'Authorization',
    'cookie',
    'Host',
    'X-Forwarded-For',
    'x-original-url',
    'Transfer-Encoding',
  ].map((name): [string, Partial<Definition>] => [
    `the header ${name} in the request for the account`,
    { account: { url: 'https://a.example', id: 'id', label: ['id'], headers: { [name]: 'x' } } },
  ]),
  ['a header of the connection in token requests', { token_headers: { Host: 'evil.example' } }],
  ['tokens that live longer than a year', { token_answer: { expires_in: 31_536_001 } }],
  ...['state', 'redirect_uri', 'client_id', 'response_type', 'code_challenge', ''].map(
    (name): [string, Partial<Definition>] => [
      `its scopes in the parameter "${name}"`,
      { scope_parameter: name },
    ],
  ),
  [
    'two revocations',
    { revocation: { url: 'https://a.example' }, revocation_url: 'https://a.example' },
  ],
  ['a pattern of its own', { variables: { a: { description: '', pattern: '(a+)+' } as never } }],
])('the definition of an org cannot have %s', ([, more]) => {
  expect(ownProvider.safeParse({ ...minimalDefinition(), ...more }).success).toBe(false);
});
