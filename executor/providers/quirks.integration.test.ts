import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import { loadConfig } from '#config';
import type { CreateConnectionBody } from '#contracts/http/connections';
import { oauthProvider } from '#contracts/oauth-provider';
import { createLogger } from '#telemetry';
import { startTestProvider } from '../../test/support/oauth-provider.ts';
import type { ProviderHit, TestProvider } from '../../test/support/oauth-provider.ts';
import { executorConfig } from '../config.ts';
import { readMasterKeys } from '../vault/master-keys.ts';
import { openVault } from '../vault/vault.ts';
import type { Vault } from '../vault/vault.ts';
import { canary, context, createWorld, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

const cleanup = new AsyncDisposableStack();
let world: World;
let provider: TestProvider;
let vault: Vault;
const clientSecret = canary();

beforeAll(async () => {
  world = cleanup.use(await createWorld());
  provider = cleanup.use(await startTestProvider());
  const { MASTER_KEY } = loadConfig(executorConfig, world.variables);
  const logger = createLogger({ component: 'test', level: 'silent' });
  vault = await openVault({ db: world.sql, masterKeys: readMasterKeys(MASTER_KEY), logger });
});
afterAll(() => cleanup.disposeAsync());
beforeEach(() => {
  provider.hits.length = 0;
  Object.assign(provider, { changeAnswer: null, expiresInSeconds: 3_600 });
});

const at = (path: string) => provider.issuer + path;
let providerCount = 0;

/** Defines a provider with the required fields and these additional fields. */
async function defineProvider(quirks: Record<string, unknown>): Promise<string> {
  const key = `quirky-${(providerCount += 1)}`;
  const row = oauthProvider.parse({
    key,
    title: 'Quirky',
    pkce: true,
    client_authentication: 'client_secret_post',
    authorization_url: at('/authorize'),
    token_url: at('/token'),
    hosts: ['api.example.com'],
    ...quirks,
  });
  const [id, { orgId }] = [uuidv7(), world];
  const sealContext = { orgId, recordId: id, version: 1, purpose: 'oauth_app' } as const;
  await world.sql`
    insert into executor.oauth_app (id, org_id, provider, client_id, sealed_secret, definition, created_by)
    values (${id}, ${orgId}, ${key}, 'gateway', ${await vault.seal(world.sql, sealContext, clientSecret)},
            ${JSON.stringify(row)}::text::jsonb, ${world.userId})
  `;
  return key;
}

const credential = { kind: 'session' as const, id: uuidv7(), clientId: null };
const createBrowser = () => world.principalOf({ role: 'admin', credential });

async function beginFlow(
  key: string,
  scopesOrBody: readonly string[] | CreateConnectionBody = ['read'],
) {
  const body =
    'length' in scopesOrBody ? { provider: key, scopes: [...scopesOrBody] } : scopesOrBody;
  const request = { principal: createBrowser(), body, context };
  const requestedConnection = await world.gateway.createConnection(request, testDeadline());
  const id = requestedConnection.authorization_url.split('/').at(-1) ?? '';
  const startedFlow = await world.gateway.beginConnectionFlow(
    { principal: createBrowser(), id, context },
    testDeadline(),
  );
  const authorizationUrl = new URL(startedFlow.url);
  const reply = await fetch(authorizationUrl, { redirect: 'manual' });
  return { authorizationUrl, callback: new URL(reply.headers.get('location') ?? '') };
}

const answerFlow = (key: string, { searchParams }: URL) =>
  world.gateway.finishConnectionFlow(
    { principal: createBrowser(), provider: key, query: searchParams.toString(), context },
    testDeadline(),
  );
const finishFlow = async (key: string, callback: URL) =>
  (await answerFlow(key, callback)).connection;
const connect = async (key: string) => finishFlow(key, (await beginFlow(key)).callback);
const refreshNow = ({ id }: { id: string }) =>
  world.gateway.refreshConnection({ principal: createBrowser(), id, context }, testDeadline());
const revokeNow = ({ id }: { id: string }) =>
  world.gateway.deleteConnection({ principal: createBrowser(), id, context }, testDeadline());
const lastHitAt = (path: string): ProviderHit =>
  provider.hits.findLast((each) => each.path === path)!;
const formFieldsOf = ({ body }: ProviderHit) => Object.fromEntries(new URLSearchParams(body));

test.for([
  ['client_secret_post', undefined, { client_id: 'gateway', client_secret: clientSecret }],
  ['client_secret_basic', 'Basic', {}],
  ['none', undefined, { client_id: 'gateway' }],
] as const)(
  'the executor authenticates as a client of the provider by the method “%s”',
  async ([method, scheme, fields]) => {
    await connect(await defineProvider({ client_authentication: method }));
    const tokenRequest = lastHitAt('/token');
    const { client_id, client_secret } = formFieldsOf(tokenRequest);
    expect(JSON.parse(JSON.stringify({ client_id, client_secret }))).toEqual(fields);
    const basic = Buffer.from(`gateway:${clientSecret}`).toString('base64');
    expect(tokenRequest.headers.authorization).toBe(scheme && `${scheme} ${basic}`);
  },
);

test('a token request can be JSON, with extra headers and parameters', async () => {
  const key = await defineProvider({
    token_request: 'json',
    token_headers: { 'x-version': '2026-01-01' },
    token_parameters: { audience: 'quirks' },
  });
  await connect(key);
  const { headers, body } = lastHitAt('/token');
  expect(headers).toMatchObject({ 'content-type': 'application/json', 'x-version': '2026-01-01' });
  expect(JSON.parse(body)).toMatchObject({
    grant_type: 'authorization_code',
    audience: 'quirks',
    client_secret: clientSecret,
    code_verifier: expect.stringMatching(/^[\w-]{43}$/),
  });
});

test('the scopes parameter can have another name, commas, and fixed additional scopes', async () => {
  const key = await defineProvider({
    scope_parameter: 'user_scope',
    scope_separator: ',',
    scopes_always: ['offline'],
    authorize_parameters: { access_type: 'offline' },
  });
  const { authorizationUrl } = await beginFlow(key, ['read', 'write']);
  expect(Object.fromEntries(authorizationUrl.searchParams)).toMatchObject({
    user_scope: 'read,write,offline',
    access_type: 'offline',
    code_challenge_method: 'S256',
  });
  expect(authorizationUrl.searchParams.has('scope')).toBe(false);
});

test('a provider without PKCE gets neither code challenge nor verifier', async () => {
  const key = await defineProvider({ pkce: false });
  const { authorizationUrl, callback } = await beginFlow(key);
  expect(authorizationUrl.searchParams.has('code_challenge')).toBe(false);
  await finishFlow(key, callback);
  expect(formFieldsOf(lastHitAt('/token'))).not.toHaveProperty('code_verifier');
});

test('a token answer can have nested fields, no lifetime, and status 200 for a refusal', async () => {
  const key = await defineProvider({
    token_answer: { at: 'authed_user', scope: 'scope', error: 'error', expires_in: 600 },
    dead_grant_errors: ['token_revoked'],
  });
  provider.changeAnswer = (response) => {
    const { access_token, refresh_token } = response.body as Record<string, string>;
    response.body = {
      ok: true,
      access_token: 'CANARY-of-the-bot',
      authed_user: { access_token, refresh_token, scope: 'read,admin' },
    };
  };
  const connection = await connect(key);
  expect(connection.granted_scopes).toEqual(['read', 'admin']);
  const leftMs = Date.parse(connection.expires_at ?? '') - Date.now();
  expect(leftMs).toBeGreaterThan(0);
  expect(leftMs).toBeLessThanOrEqual(600_000);
  await refreshNow(connection);
  expect(formFieldsOf(lastHitAt('/token'))['refresh_token']).toMatch(/^CANARY-refresh-/);
  provider.changeAnswer = (response) => {
    response.body = { ok: false, error: 'token_revoked' };
  };
  await expect(refreshNow(connection)).rejects.toMatchObject({ code: 'reauth_required' });
});

const answerWithScope = (scope: unknown) => {
  provider.changeAnswer = (response) => Object.assign(response.body as object, { scope });
};

test('scopes that the provider spells differently are granted, and are requested in the original spelling', async () => {
  const key = await defineProvider({});
  answerWithScope(['https://id.example/auth/Read', 'openid']);
  const connection = await connect(key);
  const expectedScopes = {
    granted_scopes: ['read', 'openid'],
    reported_scopes: ['https://id.example/auth/Read', 'openid'],
  };
  expect(connection).toMatchObject(expectedScopes);
  expect(await refreshNow(connection)).toMatchObject(expectedScopes);
  const { authorizationUrl, callback } = await beginFlow(key, {
    connection: connection.id,
    scopes: ['list'],
  });
  expect(authorizationUrl.searchParams.get('scope')).toBe('read openid list');
  answerWithScope('reader,lister');
  expect(await finishFlow(key, callback)).toMatchObject({
    granted_scopes: ['read', 'list', 'openid'],
    reported_scopes: ['reader', 'lister'],
  });
  // A refresh may grant fewer scopes.
  answerWithScope('reader');
  expect((await refreshNow(connection)).granted_scopes).not.toContain('list');
});

test('a withheld scope is reported to the person at first, and to admins only when it is withheld again', async () => {
  const key = await defineProvider({});
  answerWithScope('read');
  const first = await answerFlow(key, (await beginFlow(key, ['read', 'write'])).callback);
  expect(first.missingScopes).toEqual(['write']);
  expect(first).not.toHaveProperty('isRepeated');
  const listEvents = async () =>
    (await world.outbox('connection.scopes_withheld')).filter(
      ({ data }) => data['connection_id'] === first.connection.id,
    );
  expect(await listEvents()).toEqual([]);
  const secondRequest = { connection: first.connection.id, scopes: ['write'] };
  const second = await answerFlow(key, (await beginFlow(key, secondRequest)).callback);
  expect(second).toMatchObject({ missingScopes: ['write'], isRepeated: true });
  const [event] = await listEvents();
  expect(event?.audit?.description).toContain('did not grant write');
  provider.changeAnswer = null;
  const third = await answerFlow(key, (await beginFlow(key, secondRequest)).callback);
  expect(third.missingScopes).toEqual([]);
  expect(await listEvents()).toHaveLength(1);
});

test('a refresh can go to another address than the token request', async () => {
  const connection = await connect(await defineProvider({ refresh_url: at('/other/token') }));
  await refreshNow(connection);
  expect(formFieldsOf(lastHitAt('/token'))['grant_type']).toBe('authorization_code');
  expect(formFieldsOf(lastHitAt('/other/token'))['grant_type']).toBe('refresh_token');
});

test.for([
  ['in the token answer', { url: 'answer', id: 'owner.id', label: ['owner.name'] }],
  ['at an address of the provider', { url: '/userinfo', id: 'sub', label: ['nickname', 'email'] }],
] as const)('the name of the connected account is read %s', async ([, account]) => {
  const url = account.url === 'answer' ? account.url : at(account.url);
  provider.changeAnswer = (response) => {
    Object.assign(response.body as object, { owner: { id: 7, name: 'ann@example.com' } });
  };
  const connection = await connect(await defineProvider({ account: { ...account, url } }));
  expect(connection.account_label).toBe('ann@example.com');
});

test.for([
  ['rfc7009', 'POST', { token: 'refresh', client_secret: clientSecret }],
  ['json', 'DELETE', { access_token: 'access' }],
  ['bearer', 'POST', null],
] as const)(
  'a connection is revoked at the provider in the style %s',
  async ([style, method, fields]) => {
    const isJson = style === 'json';
    const key = await defineProvider({
      revocation: {
        url: at('/revoke'),
        style,
        method,
        ...(isJson ? { token: 'access_token', field: 'access_token' } : {}),
      },
    });
    await revokeNow(await connect(key));
    const tokens = provider.issuedTokens.at(-1) ?? {};
    const revokeRequest = lastHitAt('/revoke');
    expect(revokeRequest.method).toBe(method);
    if (fields === null) {
      expect([revokeRequest.headers.authorization, revokeRequest.body]).toEqual([
        `Bearer ${tokens['access']}`,
        '',
      ]);
      return;
    }
    const body = isJson ? JSON.parse(revokeRequest.body) : formFieldsOf(revokeRequest);
    const namedFields = Object.entries(fields).map(([name, value]) => [
      name,
      tokens[value] ?? value,
    ]);
    expect(body).toMatchObject(Object.fromEntries(namedFields));
    const basic = `Basic ${Buffer.from(`gateway:${clientSecret}`).toString('base64')}`;
    expect(revokeRequest.headers.authorization).toBe(isJson ? basic : undefined);
  },
);

test('an answer without an issuer is refused when its provider always sends the issuer', async () => {
  const key = await defineProvider({ issuer: provider.issuer, issuer_required: true });
  for (const [iss, code] of [
    [null, 'expired'],
    ['https://other.example', 'expired'],
    [provider.issuer, 'connected'],
  ] as const) {
    const { callback } = await beginFlow(key);
    if (iss === null) callback.searchParams.delete('iss');
    else callback.searchParams.set('iss', iss);
    const flowOutcome = await finishFlow(key, callback).then(
      () => 'connected',
      (error: { code: string }) => error.code,
    );
    expect(flowOutcome).toBe(code);
  }
});

test('a host in the token answer is added to the connection when it belongs to the provider', async () => {
  const hostOfAnswerRule = { host_of_answer: { at: 'instance_url', suffixes: ['acme.example'] } };
  for (const [named, hosts] of [
    ['https://eu7.acme.example', ['api.example.com', 'eu7.acme.example']],
    ['https://evil.example', ['api.example.com']],
    ['https://acme.example.evil.example', ['api.example.com']],
  ] as const) {
    provider.changeAnswer = (response) => {
      Object.assign(response.body as object, { instance_url: named });
    };
    expect((await connect(await defineProvider(hostOfAnswerRule))).hosts).toEqual(hosts);
  }
});

test('an account is identified by person and workspace, even if it was stored with the workspace only', async () => {
  const account = { url: 'answer', label: ['workspace_name'] };
  const person = { id: ['workspace_id', 'owner.user.id'], id_before: 'workspace_id' };
  const as = (user: string | null) => {
    provider.changeAnswer = (response) =>
      Object.assign(response.body as object, {
        workspace_id: 'w1',
        workspace_name: 'Acme',
        ...(user === null ? {} : { owner: { user: { id: user } } }),
      });
  };
  const repairThroughFlow = async (key: string, id: string) => {
    const request = { principal: createBrowser(), id, scopes: [], context };
    const { flowId } = await world.gateway.repairConnection(request, testDeadline());
    const flow = { principal: createBrowser(), id: flowId, context };
    const { url } = await world.gateway.beginConnectionFlow(flow, testDeadline());
    const reply = await fetch(url, { redirect: 'manual' });
    return finishFlow(key, new URL(reply.headers.get('location') ?? ''));
  };
  const accountOf = async (id: string) =>
    (await world.sql`select account_id from executor.connection where id = ${id}`)[0]?.[
      'account_id'
    ];

  as('ann');
  const key = await defineProvider({ account: { ...account, id: 'workspace_id' } });
  const { id } = await connect(key);
  expect(await accountOf(id)).toBe('w1');
  await world.sql`
    update executor.oauth_app
       set definition = jsonb_set(definition, '{account}', ${JSON.stringify({ ...account, method: 'GET', headers: {}, ...person })}::text::jsonb)
     where provider = ${key}
  `;
  // The earlier connection is recognised, and from now on it belongs to this person.
  await repairThroughFlow(key, id);
  expect(await accountOf(id)).toBe('w1/ann');
  await repairThroughFlow(key, id);
  for (const other of ['eve', null]) {
    as(other);
    // oxlint-disable-next-line no-await-in-loop -- one person after the other
    await expect(repairThroughFlow(key, id)).rejects.toMatchObject({ code: 'conflict' });
  }
  expect(await accountOf(id)).toBe('w1/ann');
});

test('the token of a bot has its own request parameters and answer fields, and its account is not the person’s', async () => {
  const person = { at: 'authed_user' };
  const key = await defineProvider({
    scope_parameter: 'user_scope',
    token_answer: person,
    account: { url: 'answer', id: 'authed_user.id', label: ['authed_user.id'] },
    token_kinds: {
      bot: {
        scope_parameter: 'scope',
        token_answer: {},
        account: { url: 'answer', id: 'bot_user_id', label: ['bot_user_id'] },
      },
    },
  });
  provider.changeAnswer = (response) => {
    const { access_token, refresh_token } = response.body as Record<string, string>;
    const tokens = { access_token, refresh_token };
    response.body = {
      ...tokens,
      scope: 'chat:write',
      bot_user_id: 'B1',
      authed_user: { ...tokens, id: 'U1', scope: 'search:read' },
    };
  };
  for (const [actsAs, parameter, account, scopes] of [
    ['bot', 'scope', 'B1', ['chat:write']],
    [null, 'user_scope', 'U1', ['search:read']],
  ] as const) {
    world.genuine.hosts = ['api.example.com'];
    world.genuine.oauth = {
      provider: key,
      actsAs,
      authorizationUrl: at('/authorize'),
      tokenUrl: at('/token'),
      scopes: [...scopes],
      hosts: ['api.example.com'],
    };
    const body = { template: 'chat', scheme: actsAs ?? 'user', name: `as-${actsAs ?? 'user'}` };
    const { authorizationUrl, callback } = await beginFlow(key, body);
    expect(authorizationUrl.searchParams.get(parameter)).toBe(scopes.join(' '));
    const connection = await finishFlow(key, callback);
    expect(connection).toMatchObject({
      acts_as: actsAs,
      account_label: account,
      granted_scopes: scopes,
    });
    await refreshNow(connection);
    expect(formFieldsOf(lastHitAt('/token'))['refresh_token']).toMatch(/^CANARY-refresh-/);
  }
  // A connection for a person cannot get the name of the bot's connection.
  const request = {
    principal: createBrowser(),
    body: { template: 'chat', name: 'as-bot' },
    context,
  };
  await expect(world.gateway.createConnection(request, testDeadline())).rejects.toMatchObject({
    code: 'conflict',
  });
});

test('a scope that the provider never grants to this kind of token is refused before the person is sent to the provider', async () => {
  const slackApp = { principal: world.admin, provider: 'slack', context };
  await world.gateway.putOauthApp(
    { ...slackApp, body: { client_id: 'gateway', client_secret: canary() } },
    testDeadline(),
  );
  const request = { principal: createBrowser(), context };
  const body = { provider: 'slack', scopes: ['chat:write', 'channels:manage'] };
  await expect(
    world.gateway.createConnection({ ...request, body }, testDeadline()),
  ).rejects.toMatchObject({
    code: 'invalid_params',
    message: expect.stringContaining('channels:manage'),
  });
});
