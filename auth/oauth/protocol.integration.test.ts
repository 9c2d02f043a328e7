import { createServer } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createCaller, withKey } from '../../test/support/http.ts';
import { authorization, redirectUri, startOauthWorld } from '../../test/support/oauth-world.ts';
import type { OauthWorld, SignedIn } from '../../test/support/oauth-world.ts';
import { requestRaw } from './raw-request.testing.ts';

let world: OauthWorld;
let person: SignedIn;
let clientId: string;
beforeAll(async () => {
  world = await startOauthWorld();
  person = await world.person();
  clientId = await world.register();
  await world.signInClient(person, { clientId });
});
afterAll(() => world[Symbol.asyncDispose]());

describe('discovery', () => {
  test('describes the authorization server (RFC 8414)', async () => {
    const { status, body, headers } = await get('/.well-known/oauth-authorization-server');
    expect(status).toBe(200);
    expect(body).toEqual({
      issuer: world.url,
      authorization_endpoint: `${world.url}/oauth/authorize`,
      token_endpoint: `${world.url}/oauth/token`,
      registration_endpoint: `${world.url}/oauth/register`,
      revocation_endpoint: `${world.url}/oauth/revoke`,
      scopes_supported: ['mcp', 'actions:read', 'actions:call', 'approvals', 'agents'],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_methods_supported: ['none'],
      revocation_endpoint_auth_methods_supported: ['none'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
    });
    expect(headers.get('access-control-allow-origin')).toBe('*');
  });

  test.for(['', '/mcp'])('describes the protected resource (RFC 9728) at …%s', async (suffix) => {
    const { body } = await get(`/.well-known/oauth-protected-resource${suffix}`);
    expect(body).toMatchObject({
      resource: `${world.url}${suffix}`,
      authorization_servers: [world.url],
    });
  });

  test.for([
    '/.well-known/openid-configuration',
    '/.well-known/oauth-authorization-server/mcp',
    '/.well-known/jwks.json',
    '/oauth/unused/jwks',
    '/oauth/unused/end-session',
    '/oauth/jwks',
    '/oauth/par',
    '/oauth/introspect',
    '/oauth/userinfo',
    '/oauth/device',
    '/oauth/interaction/x',
    '/jwks',
    '/me',
  ])('has nothing at %s, here or behind the gateway', async (path) => {
    expect((await get(path)).status).toBe(404);
    const { oauthUrl } = world.replicas[0] ?? { oauthUrl: '' };
    for (const method of ['GET', 'POST']) {
      expect((await fetch(`${oauthUrl}${path}`, { method })).status, method).toBe(404);
    }
  });

  test('never repeats a Host, an Origin or a forwarding header of the request', async () => {
    const { port } = new URL(world.url);
    const paths = [
      '/.well-known/oauth-authorization-server',
      '/.well-known/oauth-protected-resource/mcp',
      new URL(authorization(world.url, { client_id: clientId }).url).pathname +
        new URL(authorization(world.url, { client_id: clientId }).url).search,
      '/oauth/authorize?client_id=none',
    ];
    const forged = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-for': '203.0.113.9',
      'x-forwarded-proto': 'gopher',
      'x-original-url': 'https://evil.example/',
      forwarded: 'host=evil.example;proto=gopher',
      origin: 'https://evil.example',
    };
    for (const path of paths) {
      const wrongHost = await requestRaw(port, path, { host: 'evil.example', ...forged });
      expect(wrongHost.status, path).toBe(403);
      const rightHost = await requestRaw(port, path, { host: `127.0.0.1:${port}`, ...forged });
      const direct = await requestRaw(new URL(world.replicas[0]?.oauthUrl ?? '').port, path, {
        host: 'evil.example',
        ...forged,
      });
      for (const { text } of [wrongHost, rightHost, direct]) {
        expect(text, path).not.toMatch(/evil\.example|gopher/);
      }
    }
  });
});

describe('registration', () => {
  const register = (metadata: unknown) =>
    createCaller(world.url, {}).post('/oauth/register', metadata);

  test('answers a public client, whatever authentication it names', async () => {
    for (const method of [undefined, 'none', 'client_secret_basic', 'private_key_jwt']) {
      const { status, body, headers } = await register({
        redirect_uris: [redirectUri],
        client_name: 'Some client',
        software_id: 'some-software',
        client_secret: 'CANARY-client-secret',
        ...(method === undefined ? {} : { token_endpoint_auth_method: method }),
      });
      expect(status).toBe(201);
      expect(body).toEqual({
        client_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        client_id_issued_at: expect.any(Number),
        client_name: 'Some client',
        software_id: 'some-software',
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      });
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('access-control-allow-origin')).toBe('*');
    }
  });

  test('dials nothing that it is told', async () => {
    let calls = 0;
    const canary = createServer((socket) => {
      calls += 1;
      socket.destroy();
    }).listen(0, '127.0.0.1');
    await once(canary, 'listening');
    const at = `127.0.0.1:${(canary.address() as AddressInfo).port}/x`;
    const names = [
      'sector_identifier_uri',
      'jwks_uri',
      'logo_uri',
      'client_uri',
      'policy_uri',
      'tos_uri',
      'initiate_login_uri',
      'backchannel_logout_uri',
      'software_statement',
      'request_uris',
    ];
    for (const scheme of ['https', 'http']) {
      const metadata = Object.fromEntries(names.map((name) => [name, `${scheme}://${at}`]));
      const reply = await register({ redirect_uris: [redirectUri], ...metadata });
      expect(reply.status).toBe(201);
      expect(JSON.stringify(reply.body)).not.toContain(at);
      await person.browser.open(authorization(world.url, { client_id: reply.body.client_id }).url);
    }
    const stored = await world.db`select * from auth.oauth_client`;
    expect(JSON.stringify(stored)).not.toContain(at);
    expect(calls).toBe(0);
    canary.close();
  });

  test.for<[what: string, body: unknown, error: string]>([
    [
      'a foreign http redirect URI',
      { redirect_uris: ['http://evil.example/cb'] },
      'invalid_redirect_uri',
    ],
    [
      'a script as redirect URI',
      { redirect_uris: ['javascript:alert(1)'] },
      'invalid_redirect_uri',
    ],
    ['no redirect URI', { client_name: 'x' }, 'invalid_redirect_uri'],
    ['no object', [], 'invalid_client_metadata'],
    [
      'another flow',
      { redirect_uris: [redirectUri], response_types: ['token'] },
      'invalid_client_metadata',
    ],
  ])('refuses %s', async ([, body, error]) => {
    const reply = await register(body);
    expect(reply).toMatchObject({ status: 400, body: { error } });
    expect(JSON.stringify(reply.body)).not.toContain('client_secret');
  });

  test('refuses what is too large or no JSON', async () => {
    const large = await register({ redirect_uris: [redirectUri], client_name: 'x'.repeat(17_000) });
    expect(large.status).toBe(413);
    const broken = await fetch(`${world.url}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"redirect_uris":',
    });
    expect(broken.status).toBe(400);
    expect(await broken.json()).toMatchObject({ error: 'invalid_client_metadata' });
  });

  test('takes no more than some thousands that nobody let in', async () => {
    await world.db`
      insert into auth.oauth_client (id, kind, name, redirect_uris)
      select 'waiting-' || n, 'registered', 'x', '{}' from generate_series(1, 10000) n`;
    const full = await register({ redirect_uris: [redirectUri] });
    expect(full).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } });
    expect(full.headers.get('retry-after')).toBe('3600');
    expect((await world.signInClient(person, { clientId })).scope).toBe('mcp');
    await world.db`delete from auth.oauth_client where id like 'waiting-%'`;
  });
});

describe('an authorization request', () => {
  const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URbuGJSstw-cM';
  const ask = async (parameters: Record<string, string | undefined>) => {
    const all = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      code_challenge: `${challenge}M`.slice(0, 43),
      state: 's',
      ...parameters,
    };
    const given = Object.entries(all).filter(
      (pair): pair is [string, string] => pair[1] !== undefined,
    );
    return person.browser.open(`/oauth/authorize?${new URLSearchParams(given).toString()}`);
  };

  test.for<[what: string, parameters: Record<string, string | undefined>, error: string]>([
    ['without code_challenge', { code_challenge: undefined }, 'invalid_request'],
    ['with the plain method', { code_challenge_method: 'plain' }, 'invalid_request'],
    [
      'with a method but no challenge',
      { code_challenge: undefined, code_challenge_method: 'S256' },
      'invalid_request',
    ],
    ['with a malformed challenge', { code_challenge: 'short' }, 'invalid_request'],
    ['for a token', { response_type: 'token' }, 'unsupported_response_type'],
    ['for an ID token', { response_type: 'code id_token' }, 'unsupported_response_type'],
    ['without response_type', { response_type: undefined }, 'invalid_request'],
    ['with an unknown scope', { scope: 'admin' }, 'invalid_scope'],
    ['for another resource', { resource: 'https://other.example' }, 'invalid_target'],
    ['for a path that is no resource', { resource: '/mcp' }, 'invalid_target'],
    ['with a request object', { request: 'x' }, 'request_not_supported'],
    ['by reference', { request_uri: 'https://evil.example/x' }, 'request_uri_not_supported'],
    ['with another response mode', { response_mode: 'form_post' }, 'unsupported_response_mode'],
    ['with prompt none and another', { prompt: 'none consent' }, 'invalid_request'],
    ['with an unknown prompt', { prompt: 'create' }, 'invalid_request'],
  ])('%s is refused at the redirect URI', async ([, parameters, error]) => {
    const { leavesTo } = await ask(parameters);
    expect(leavesTo && leavesTo.origin + leavesTo.pathname).toBe(redirectUri);
    // The answer to a flow we do not have stands where that flow expects it.
    const answer = leavesTo?.searchParams.size
      ? leavesTo.searchParams
      : new URLSearchParams(leavesTo?.hash.slice(1));
    expect(Object.fromEntries(answer)).toMatchObject({ error, state: 's', iss: world.url });
  });

  test.for(['', '/', '/mcp', '/mcp/'])('may name the audience as …%s', async (suffix) => {
    const { leavesTo } = await ask({ resource: `${world.url}${suffix}` });
    expect(leavesTo?.searchParams.get('code')).toBeTruthy();
  });

  test.for<[what: string, uri: string, isAllowed: boolean]>([
    ['itself', 'http://127.0.0.1/callback', true],
    ['another port', 'http://127.0.0.1:1/callback', true],
    ['another port', 'http://127.0.0.1:65535/callback', true],
    ['another path', 'http://127.0.0.1/callback2', false],
    ['a slash more', 'http://127.0.0.1/callback/', false],
    ['another case', 'http://127.0.0.1/Callback', false],
    ['a query more', 'http://127.0.0.1/callback?x=1', false],
    ['a fragment', 'http://127.0.0.1/callback#x', false],
    ['a user', 'http://u@127.0.0.1/callback', false],
    ['a user and a port', 'http://u:p@127.0.0.1:9/callback', false],
    ['dot segments', 'http://127.0.0.1/a/../callback', false],
    ['another loopback name', 'http://localhost/callback', false],
    ['another loopback address', 'http://127.0.0.2/callback', false],
    ['https', 'https://127.0.0.1/callback', false],
    ['elsewhere', 'https://evil.example/callback', false],
    ['a port that is none', 'http://127.0.0.1:x/callback', false],
    ['an encoded letter', 'http://127.0.0.1/%63allback', false],
  ])('may come back to %s: %s → %s', async ([, uri, isAllowed]) => {
    const { status, leavesTo, html } = await ask({ redirect_uri: uri });
    if (isAllowed) return expect(leavesTo?.searchParams.get('code')).toBeTruthy();
    expect([status, leavesTo]).toEqual([400, null]);
    expect(html).toContain('This link does not work');
  });

  test('of an unknown client goes nowhere', async () => {
    for (const id of ['unknown', '', "'; drop table", 'x'.repeat(600), undefined]) {
      const { status, leavesTo } = await ask({ client_id: id });
      expect([status, leavesTo], id).toEqual([400, null]);
    }
  });

  test('with a parameter twice is refused', async () => {
    const { url } = authorization(world.url, { client_id: clientId });
    for (const twice of [
      'code_challenge=x',
      'scope=mcp&scope=mcp',
      'state=y',
      'response_type=code',
    ]) {
      const page = await person.browser.open(`${url}&${twice}`);
      expect(page.leavesTo?.searchParams.get('error'), twice).toBe('invalid_request');
    }
    const page = await person.browser.open(`${url}&redirect_uri=https://evil.example`);
    expect([page.status, page.leavesTo]).toEqual([400, null]);
  });
});

test('the authorization server sets no cookie, not even behind the gateway', async () => {
  const { oauthUrl } = world.replicas[0] ?? { oauthUrl: '' };
  const { url } = authorization(oauthUrl, { client_id: clientId });
  for (const headers of [{}, { cookie: `gateway_session=${person.sessionToken}` }]) {
    for (const ask of [url, `${url}&prompt=consent`]) {
      const reply = await fetch(ask, { redirect: 'manual', headers });
      expect([reply.status, reply.headers.get('set-cookie')]).toEqual([303, null]);
    }
  }
});

describe('a token request', () => {
  const fresh = async () => {
    const { url, verifier } = authorization(world.url, { client_id: clientId });
    const answer = await person.browser.authorize(url);
    return {
      grant_type: 'authorization_code',
      client_id: clientId,
      redirect_uri: redirectUri,
      code: answer.searchParams.get('code') ?? '',
      code_verifier: verifier,
    };
  };

  test.for<[what: string, change: Record<string, string>, status: number, error: string]>([
    ['another verifier', { code_verifier: 'x'.repeat(43) }, 400, 'invalid_grant'],
    ['another redirect URI', { redirect_uri: 'http://127.0.0.1/callback' }, 400, 'invalid_grant'],
    ['an unknown code', { code: 'x'.repeat(43) }, 400, 'invalid_grant'],
    ['an unknown client', { client_id: 'unknown' }, 401, 'invalid_client'],
    ['another grant type', { grant_type: 'password' }, 400, 'unsupported_grant_type'],
    ['another audience', { resource: 'https://other.example' }, 400, 'invalid_target'],
  ])('with %s is refused', async ([, change, status, error]) => {
    const reply = await world.post('/oauth/token', { ...(await fresh()), ...change });
    expect(reply).toMatchObject({ status, body: { error } });
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(JSON.stringify(reply.body)).not.toMatch(/stack|node_modules|select /);
  });

  test('of another client with the code of this one is refused', async () => {
    const other = await world.register();
    const reply = await world.post('/oauth/token', { ...(await fresh()), client_id: other });
    expect(reply).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  });

  test('without a verifier is refused', async () => {
    const { code_verifier: _verifier, ...rest } = await fresh();
    expect((await world.post('/oauth/token', rest)).body.error).toBe('invalid_grant');
  });

  test('after a minute is too late', async () => {
    const form = await fresh();
    await world.db`
      update auth.oauth_token
         set payload = jsonb_set(payload, '{exp}', '1'), expires_at = now()
       where kind = 'code' and consumed_at is null`;
    expect((await world.post('/oauth/token', form)).body.error).toBe('invalid_grant');
  });

  test('in JSON, compressed or too large is refused with a typed error', async () => {
    const send = (headers: Record<string, string>, body: string) =>
      fetch(`${world.url}/oauth/token`, { method: 'POST', headers, body });
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await send({ 'content-type': 'application/json' }, '{}')).status).toBe(400);
    expect((await send({ ...form, 'content-encoding': 'gzip' }, 'x')).status).toBe(415);
    expect((await send(form, 'x'.repeat(70_000))).status).toBe(413);
  });

  test('to refresh may ask for less, never for more, and gets the whole again later', async () => {
    const tokens = await world.signInClient(person, { clientId, scope: 'actions:call approvals' });
    const refresh = (refreshToken: string, scope?: string) =>
      world.post('/oauth/token', {
        grant_type: 'refresh_token',
        client_id: clientId,
        refresh_token: refreshToken,
        ...(scope === undefined ? {} : { scope }),
      });
    const more = await refresh(tokens.refresh_token, 'mcp');
    expect(more).toMatchObject({ status: 400, body: { error: 'invalid_scope' } });
    const less = await refresh(tokens.refresh_token, 'approvals offline_access');
    expect(less.body.scope).toBe('approvals');
    const me = await withKey(world.url, less.body.access_token).get('/v1/identities/me');
    expect(me.body.scopes).toEqual(['approvals']);
    const whole = await refresh(less.body.refresh_token);
    expect(whole.body.scope).toBe('actions:call approvals');
  });

  test('of another client with a refresh token of this one changes nothing', async () => {
    const tokens = await world.signInClient(person, { clientId });
    const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
    const stolen = await world.post('/oauth/token', { ...form, client_id: await world.register() });
    expect(stolen.body.error).toBe('invalid_grant');
    expect((await world.post('/oauth/token', { ...form, client_id: clientId })).status).toBe(200);
  });
});

describe('credentials', () => {
  test('are never taken for one another', async () => {
    const tokens = await world.signInClient(person, { clientId });
    const status = async (headers: Record<string, string>) =>
      (await createCaller(world.url, headers).get('/v1/identities/me')).status;

    const { access_token: access, refresh_token: refresh } = tokens;
    expect(await status({ authorization: `Bearer ${access}` })).toBe(200);
    expect(await status({ authorization: `Bearer ${refresh}` })).toBe(401);
    expect(await status({ authorization: `Bearer ${person.sessionToken}` })).toBe(401);
    expect(await status({ cookie: `gateway_session=${access}` })).toBe(401);
    expect(await status({ cookie: `gateway_session=${refresh}` })).toBe(401);
    const form = { grant_type: 'refresh_token', client_id: clientId };
    for (const wrong of [access, person.sessionToken, 'aak_x']) {
      const reply = await world.post('/oauth/token', { ...form, refresh_token: wrong });
      expect(reply.body.error).toBe('invalid_grant');
    }
    const page = await fetch(authorization(world.url, { client_id: clientId }).url, {
      redirect: 'manual',
      headers: { cookie: `gateway_session=${access}; _session=${access}` },
    });
    expect(page.headers.get('location')).toMatch(/^\/sign-in\?/);
  });

  test('open only what their scopes say, and as agents nothing that is for users', async () => {
    const tokens = await world.signInClient(await world.person(), { scope: 'actions:read' });
    const caller = withKey(world.url, tokens.access_token);
    expect((await caller.get('/v1/identities')).body).toMatchObject({
      error: 'insufficient_scope',
    });
    const whole = withKey(world.url, (await world.signInClient(person)).access_token);
    expect((await whole.get('/v1/identities')).status).toBe(200);
    const agent = await whole.post('/v1/identities/agents', { name: 'x' });
    expect(agent.body).toMatchObject({ error: 'insufficient_scope' });
  });

  test('are not in the database: nothing in it is usable', async () => {
    const { url, verifier } = authorization(world.url, { client_id: clientId });
    const page = await person.browser.open(`${url}&prompt=consent`);
    const tokens = await world.signInClient(person, { clientId });
    const waiting = page.url.searchParams.get('id') ?? '';
    const unused = await person.browser.open(url);
    const code = unused.leavesTo?.searchParams.get('code') ?? '';
    expect([waiting.length, code.length]).toEqual([43, 43]);

    const tables = await world.db<{ name: string }[]>`
      select table_name as name from information_schema.tables where table_schema = 'auth'`;
    const secrets = [
      tokens.access_token,
      tokens.refresh_token,
      code,
      verifier,
      waiting,
      person.sessionToken,
    ];
    let rows = 0;
    for (const { name } of tables) {
      const dump = JSON.stringify(
        await world.db`select to_jsonb(t)::text as row from auth.${world.db(name)} t`,
      );
      rows += dump.length;
      for (const secret of secrets) expect(dump.includes(secret), name).toBe(false);
    }
    expect(rows).toBeGreaterThan(1_000);
  });
});

async function get(path: string) {
  const reply = await fetch(`${world.url}${path}`, {
    redirect: 'manual',
    // Not as a browser that opens a page of the dashboard.
    headers: { accept: 'application/json' },
  });
  const text = await reply.text();
  const body = text.startsWith('{') ? JSON.parse(text) : text;
  return { status: reply.status, headers: reply.headers, body };
}
