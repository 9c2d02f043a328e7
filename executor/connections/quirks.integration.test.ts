import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import { loadConfig } from '#config';
import { oauthProvider } from '#contracts/oauth-provider';
import { createLogger } from '#telemetry';
import { startTestProvider } from '../../test/support/oauth-provider.ts';
import type { ProviderHit, TestProvider } from '../../test/support/oauth-provider.ts';
import { executorConfig } from '../config.ts';
import { readMasterKeys } from '../vault/master-keys.ts';
import { openVault } from '../vault/vault.ts';
import type { Vault } from '../vault/vault.ts';
import { canary, context, createWorld, soon } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

/** Each field of a provider's row changes what is really sent, or how an answer is really read. */
const owned = new AsyncDisposableStack();
let world: World;
let provider: TestProvider;
let vault: Vault;
const clientSecret = canary();

beforeAll(async () => {
  world = owned.use(await createWorld());
  provider = owned.use(await startTestProvider());
  const { MASTER_KEY } = loadConfig(executorConfig, world.variables);
  const logger = createLogger({ component: 'test', level: 'silent' });
  vault = await openVault({ db: world.sql, masterKeys: readMasterKeys(MASTER_KEY), logger });
});
afterAll(() => owned.disposeAsync());
beforeEach(() => {
  provider.hits.length = 0;
  Object.assign(provider, { answer: null, expiresIn: 3_600 });
});

const at = (path: string) => provider.issuer + path;
let providers = 0;

/** A provider of this row: everything that a row must say, and what is told here. */
async function define(quirks: Record<string, unknown>): Promise<string> {
  const key = `quirky-${(providers += 1)}`;
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
  const binding = { orgId, recordId: id, version: 1, purpose: 'oauth_app' } as const;
  await world.sql`
    insert into executor.oauth_app (id, org_id, provider, client_id, sealed_secret, definition, created_by)
    values (${id}, ${orgId}, ${key}, 'gateway', ${await vault.seal(world.sql, binding, clientSecret)},
            ${JSON.stringify(row)}::text::jsonb, ${world.userId})
  `;
  return key;
}

const credential = { kind: 'session' as const, id: uuidv7(), clientId: null };
const browser = () => world.principalOf({ role: 'admin', credential });

async function begin(key: string, scopes = ['read']) {
  const body = { provider: key, scopes };
  const wish = { principal: browser(), body, context };
  const asked = await world.gateway.createConnection(wish, soon());
  const id = asked.authorization_url.split('/').at(-1) ?? '';
  const begun = await world.gateway.beginConnectionFlow(
    { principal: browser(), id, context },
    soon(),
  );
  const asking = new URL(begun.url);
  const reply = await fetch(asking, { redirect: 'manual' });
  return { asking, callback: new URL(reply.headers.get('location') ?? '') };
}

const finish = async (key: string, { searchParams }: URL) =>
  (
    await world.gateway.finishConnectionFlow(
      { principal: browser(), provider: key, query: searchParams.toString(), context },
      soon(),
    )
  ).connection;
const connect = async (key: string) => finish(key, (await begin(key)).callback);
const refresh = ({ id }: { id: string }) =>
  world.gateway.refreshConnection({ principal: browser(), id, context }, soon());
const revoke = ({ id }: { id: string }) =>
  world.gateway.deleteConnection({ principal: browser(), id, context }, soon());
const hit = (path: string): ProviderHit => provider.hits.findLast((each) => each.path === path)!;
const form = ({ body }: ProviderHit) => Object.fromEntries(new URLSearchParams(body));

test.for([
  ['client_secret_post', undefined, { client_id: 'gateway', client_secret: clientSecret }],
  ['client_secret_basic', 'Basic', {}],
  ['none', undefined, { client_id: 'gateway' }],
] as const)('the client says who it is by %s', async ([method, scheme, fields]) => {
  await connect(await define({ client_authentication: method }));
  const sent = hit('/token');
  const { client_id, client_secret } = form(sent);
  expect(JSON.parse(JSON.stringify({ client_id, client_secret }))).toEqual(fields);
  const basic = Buffer.from(`gateway:${clientSecret}`).toString('base64');
  expect(sent.headers.authorization).toBe(scheme && `${scheme} ${basic}`);
});

test('a token request is JSON, with headers and parameters of its own', async () => {
  const key = await define({
    token_request: 'json',
    token_headers: { 'x-version': '2026-01-01' },
    token_parameters: { audience: 'quirks' },
  });
  await connect(key);
  const { headers, body } = hit('/token');
  expect(headers).toMatchObject({ 'content-type': 'application/json', 'x-version': '2026-01-01' });
  expect(JSON.parse(body)).toMatchObject({
    grant_type: 'authorization_code',
    audience: 'quirks',
    client_secret: clientSecret,
    code_verifier: expect.stringMatching(/^[\w-]{43}$/),
  });
});

test('scopes are asked for under another name, with commas, and with what always comes along', async () => {
  const key = await define({
    scope_parameter: 'user_scope',
    scope_separator: ',',
    scopes_always: ['offline'],
    authorize_parameters: { access_type: 'offline' },
  });
  const { asking } = await begin(key, ['read', 'write']);
  expect(Object.fromEntries(asking.searchParams)).toMatchObject({
    user_scope: 'read,write,offline',
    access_type: 'offline',
    code_challenge_method: 'S256',
  });
  expect(asking.searchParams.has('scope')).toBe(false);
});

test('a provider without PKCE is sent neither challenge nor verifier', async () => {
  const key = await define({ pkce: false });
  const { asking, callback } = await begin(key);
  expect(asking.searchParams.has('code_challenge')).toBe(false);
  await finish(key, callback);
  expect(form(hit('/token'))).not.toHaveProperty('code_verifier');
});

test('tokens one level deeper, a lifetime that nobody names, and refusals with status 200', async () => {
  const key = await define({
    token_answer: { at: 'authed_user', scope: 'scope', error: 'error', expires_in: 600 },
    dead_grant_errors: ['token_revoked'],
  });
  provider.answer = (response) => {
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
  await refresh(connection);
  expect(form(hit('/token'))['refresh_token']).toMatch(/^CANARY-refresh-/);
  provider.answer = (response) => {
    response.body = { ok: false, error: 'token_revoked' };
  };
  await expect(refresh(connection)).rejects.toMatchObject({ code: 'reauth_required' });
});

test('a refresh goes to an address of its own', async () => {
  const connection = await connect(await define({ refresh_url: at('/other/token') }));
  await refresh(connection);
  expect(form(hit('/token'))['grant_type']).toBe('authorization_code');
  expect(form(hit('/other/token'))['grant_type']).toBe('refresh_token');
});

test.for([
  ['in the token answer', { url: 'answer', id: 'owner.id', label: ['owner.name'] }],
  ['at an address', { url: '/userinfo', id: 'sub', label: ['nickname', 'email'] }],
] as const)('whose account it is stands %s', async ([, account]) => {
  const url = account.url === 'answer' ? account.url : at(account.url);
  provider.answer = (response) => {
    Object.assign(response.body as object, { owner: { id: 7, name: 'ann@example.com' } });
  };
  const connection = await connect(await define({ account: { ...account, url } }));
  expect(connection.account_label).toBe('ann@example.com');
});

test.for([
  ['rfc7009', 'POST', { token: 'refresh', client_secret: clientSecret }],
  ['json', 'DELETE', { access_token: 'access' }],
  ['bearer', 'POST', null],
] as const)('a grant is revoked in the style %s', async ([style, method, fields]) => {
  const isJson = style === 'json';
  const key = await define({
    revocation: {
      url: at('/revoke'),
      style,
      method,
      ...(isJson ? { token: 'access_token', field: 'access_token' } : {}),
    },
  });
  await revoke(await connect(key));
  const tokens = provider.issued.at(-1) ?? {};
  const sent = hit('/revoke');
  expect(sent.method).toBe(method);
  if (fields === null) {
    expect([sent.headers.authorization, sent.body]).toEqual([`Bearer ${tokens['access']}`, '']);
    return;
  }
  const body = isJson ? JSON.parse(sent.body) : form(sent);
  const named = Object.entries(fields).map(([name, value]) => [name, tokens[value] ?? value]);
  expect(body).toMatchObject(Object.fromEntries(named));
  const basic = `Basic ${Buffer.from(`gateway:${clientSecret}`).toString('base64')}`;
  expect(sent.headers.authorization).toBe(isJson ? basic : undefined);
});

test('a provider that always names itself is believed only when it does', async () => {
  const key = await define({ issuer: provider.issuer, issuer_required: true });
  for (const [iss, code] of [
    [null, 'expired'],
    ['https://other.example', 'expired'],
    [provider.issuer, 'connected'],
  ] as const) {
    const { callback } = await begin(key);
    if (iss === null) callback.searchParams.delete('iss');
    else callback.searchParams.set('iss', iss);
    const ended = await finish(key, callback).then(
      () => 'connected',
      (error: { code: string }) => error.code,
    );
    expect(ended).toBe(code);
  }
});

test('a further host that the answer names is added when it is one of the provider’s', async () => {
  const quirk = { host_of_answer: { at: 'instance_url', suffixes: ['acme.example'] } };
  for (const [named, hosts] of [
    ['https://eu7.acme.example', ['api.example.com', 'eu7.acme.example']],
    ['https://evil.example', ['api.example.com']],
    ['https://acme.example.evil.example', ['api.example.com']],
  ] as const) {
    provider.answer = (response) => {
      Object.assign(response.body as object, { instance_url: named });
    };
    expect((await connect(await define(quirk))).hosts).toEqual(hosts);
  }
});
