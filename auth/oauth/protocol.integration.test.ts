import { createServer } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createCaller, createCallerWithKey } from '../../test/support/http.ts';
import {
  createAuthorizationRequest,
  redirectUri,
  startOauthWorld,
} from '../../test/support/oauth-world.ts';
import type { OauthWorld, SignedIn } from '../../test/support/oauth-world.ts';
import { sendRaw } from '../../test/support/raw.ts';
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

describe('the discovery of the authorization server', () => {
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

  test.for(['', '/mcp'])(
    'describes the protected resource (RFC 9728) for the path "%s"',
    async (suffix) => {
      const { body } = await get(`/.well-known/oauth-protected-resource${suffix}`);
      expect(body).toMatchObject({
        resource: `${world.url}${suffix}`,
        authorization_servers: [world.url],
      });
    },
  );

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
  ])('offers no endpoint at %s: the gateway and auth answer 404', async (path) => {
    expect((await get(path)).status).toBe(404);
    const { oauthUrl } = world.replicas[0] ?? { oauthUrl: '' };
    for (const method of ['GET', 'POST']) {
      expect((await fetch(`${oauthUrl}${path}`, { method })).status, method).toBe(404);
    }
  });

  test.for([
    '/.well-known/oauth-authorization-server',
    '/.well-known/oauth-protected-resource',
    '/.well-known/oauth-protected-resource/mcp',
    '/.well-known/action-gateway-keys',
    '/v1/openapi.json',
  ])('answers HEAD of %s as GET, without a body', async (path) => {
    const whole = await fetch(world.url + path);
    const head = await fetch(world.url + path, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    for (const name of ['content-type', 'cache-control', 'access-control-allow-origin']) {
      expect(head.headers.get(name), name).toBe(whole.headers.get(name));
    }
    const bytes = Buffer.byteLength(await whole.text());
    expect(head.headers.get('content-length')).toBe(String(bytes));
    const refused = await fetch(world.url + path, { method: 'PUT' });
    expect([refused.status, refused.headers.get('allow')]).toEqual([
      405,
      expect.stringContaining('GET, HEAD'),
    ]);
  });

  test.for([
    '/.well-known/oauth-authorization-server/',
    '/.well-known/oauth-authorization-server/mcp',
    '//.well-known/oauth-authorization-server',
    '/mcp/.well-known/oauth-authorization-server',
    '/.well-known/openid-configuration',
    '/mcp/.well-known/openid-configuration?x=1',
  ])('names the issuer at %s', async (path) => {
    const { port } = new URL(world.url);
    const reply = await sendRaw(world.url, {
      method: 'GET',
      path,
      headers: { host: `127.0.0.1:${port}` },
    });
    expect(reply.status).toBe(404);
    expect(reply.body).toMatchObject({
      error: 'not_found',
      issuer: world.url,
      message: expect.stringContaining(`The issuer here is ${world.url}, `),
    });
  });

  test('never reflects Host, Origin or forwarding headers of the request', async () => {
    const { port } = new URL(world.url);
    const paths = [
      '/.well-known/oauth-authorization-server',
      '/.well-known/oauth-protected-resource/mcp',
      new URL(createAuthorizationRequest(world.url, { client_id: clientId }).url).pathname +
        new URL(createAuthorizationRequest(world.url, { client_id: clientId }).url).search,
      '/oauth/authorize?client_id=none',
    ];
    const forgedTokens = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-for': '203.0.113.9',
      'x-forwarded-proto': 'gopher',
      'x-original-url': 'https://evil.example/',
      forwarded: 'host=evil.example;proto=gopher',
      origin: 'https://evil.example',
    };
    for (const path of paths) {
      const wrongHostReply = await requestRaw(port, path, {
        host: 'evil.example',
        ...forgedTokens,
      });
      expect(wrongHostReply.status, path).toBe(403);
      const rightHostReply = await requestRaw(port, path, {
        host: `127.0.0.1:${port}`,
        ...forgedTokens,
      });
      const directReply = await requestRaw(new URL(world.replicas[0]?.oauthUrl ?? '').port, path, {
        host: 'evil.example',
        ...forgedTokens,
      });
      // The response to a request with the wrong host mentions that host in its message only.
      for (const { text } of [rightHostReply, directReply]) {
        expect(text, path).not.toMatch(/evil\.example|gopher/);
      }
    }
  });
});

describe('a gateway whose base URL is on loopback', () => {
  const getAt = (host: string, path: string, accept = '*/*') =>
    sendRaw(world.url, { method: 'GET', path, headers: { host, accept } });

  test.for(['127.0.0.1', 'localhost', '[::1]'])(
    'lets a client that was given the name %s find its resource under that name',
    async (name) => {
      const { port } = new URL(world.url);
      const host = `${name}:${port}`;
      const refused = await getAt(host, '/mcp');
      const metadataUrl = `http://${host}/.well-known/oauth-protected-resource/mcp`;
      expect(refused.status).toBe(401);
      expect(refused.headers.get('www-authenticate')).toContain(
        `resource_metadata="${metadataUrl}"`,
      );

      const metadata = await getAt(host, new URL(metadataUrl).pathname);
      expect(metadata.body).toMatchObject({
        resource: `http://${host}/mcp`,
        authorization_servers: [world.url],
      });
    },
  );

  test('redirects a page that is opened under another name to the name in the base URL', async () => {
    const { port } = new URL(world.url);
    for (const path of [
      '/sign-in?return_to=%2Fagents',
      '/agents',
      '/oauth/authorize?client_id=x',
    ]) {
      const reply = await getAt(`localhost:${port}`, path, 'text/html,*/*;q=0.8');
      expect([reply.status, reply.headers.get('location')]).toEqual([307, `${world.url}${path}`]);
    }
    // A program gets its response under the name that it requested.
    expect((await getAt(`localhost:${port}`, '/health/live')).status).toBe(200);
  });
});

describe('the registration of an OAuth client', () => {
  const register = (metadata: unknown) =>
    createCaller(world.url, {}).post('/oauth/register', metadata);

  test('creates a public client, whatever authentication method the request names', async () => {
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

  test("requests no URL that the client's metadata contains", async () => {
    let canaryCalls = 0;
    const canaryServer = createServer((socket) => {
      canaryCalls += 1;
      socket.destroy();
    }).listen(0, '127.0.0.1');
    await once(canaryServer, 'listening');
    const at = `127.0.0.1:${(canaryServer.address() as AddressInfo).port}/x`;
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
      await person.browser.open(
        createAuthorizationRequest(world.url, { client_id: reply.body.client_id }).url,
      );
    }
    const storedClients = await world.db`select * from auth.oauth_client`;
    expect(JSON.stringify(storedClients)).not.toContain(at);
    expect(canaryCalls).toBe(0);
    canaryServer.close();
  });

  test.for<[what: string, body: unknown, error: string]>([
    [
      'an http redirect URI on another host',
      { redirect_uris: ['http://evil.example/cb'] },
      'invalid_redirect_uri',
    ],
    [
      'a javascript redirect URI',
      { redirect_uris: ['javascript:alert(1)'] },
      'invalid_redirect_uri',
    ],
    ['metadata without a redirect URI', { client_name: 'x' }, 'invalid_redirect_uri'],
    ['metadata that is not an object', [], 'invalid_client_metadata'],
    [
      'an unsupported response type',
      { redirect_uris: [redirectUri], response_types: ['token'] },
      'invalid_client_metadata',
    ],
  ])('refuses %s', async ([, body, error]) => {
    const reply = await register(body);
    expect(reply).toMatchObject({ status: 400, body: { error } });
    expect(JSON.stringify(reply.body)).not.toContain('client_secret');
  });

  test('keeps the redirect URIs that can be used, and lists them in the response', async () => {
    const { status, body } = await register({
      redirect_uris: ['unheard-of://callback', redirectUri, 'javascript:alert(1)'],
    });
    expect([status, body.redirect_uris]).toEqual([201, [redirectUri]]);
    const refused = await register({ redirect_uris: ['unheard-of://callback'] });
    expect(refused).toMatchObject({
      status: 400,
      body: {
        error: 'invalid_redirect_uri',
        error_description: expect.stringContaining('scheme unheard-of'),
      },
    });
  });

  test('refuses a body that is too large or not JSON', async () => {
    const largeReply = await register({
      redirect_uris: [redirectUri],
      client_name: 'x'.repeat(17_000),
    });
    expect(largeReply.status).toBe(413);
    const brokenReply = await fetch(`${world.url}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"redirect_uris":',
    });
    expect(brokenReply.status).toBe(400);
    expect(await brokenReply.json()).toMatchObject({ error: 'invalid_client_metadata' });
  });

  test('is refused while 10,000 other clients wait for their first authorization', async () => {
    await world.db`
      insert into auth.oauth_client (id, kind, name, redirect_uris)
      select 'waiting-' || n, 'registered', 'x', '{}' from generate_series(1, 10000) n`;
    const fullReply = await register({ redirect_uris: [redirectUri] });
    expect(fullReply).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } });
    expect(fullReply.headers.get('retry-after')).toBe('3600');
    expect((await world.signInClient(person, { clientId })).scope).toBe('mcp');
    await world.db`delete from auth.oauth_client where id like 'waiting-%'`;
  });
});

describe('a client that identifies itself by HTTP Basic with an empty password', () => {
  const send = async (path: string, authorization: string, form: Record<string, string>) => {
    const reply = await fetch(world.url + path, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form),
    });
    const text = await reply.text();
    return { status: reply.status, headers: reply.headers, body: text && JSON.parse(text) };
  };
  const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;
  const refreshWith = async (authorization: string, more: Record<string, string> = {}) => {
    const { refresh_token } = await world.signInClient(person, { clientId });
    return send('/oauth/token', authorization, {
      grant_type: 'refresh_token',
      refresh_token,
      ...more,
    });
  };

  test('gets tokens and revokes them', async () => {
    const { status, body } = await refreshWith(basic(`${clientId}:`));
    expect([status, body.token_type]).toEqual([200, 'Bearer']);
    const revoked = await send('/oauth/revoke', basic(`${clientId}:`), {
      token: body.refresh_token,
    });
    expect(revoked.status).toBe(200);
    const again = await send('/oauth/token', basic(`${clientId}:`), {
      grant_type: 'refresh_token',
      refresh_token: body.refresh_token,
    });
    expect([again.status, again.body.error]).toEqual([400, 'invalid_grant']);
  });

  test('is refused when the body names another client, with a secret, and with a malformed header', async () => {
    const other = await world.register();
    expect((await refreshWith(basic(`${other}:`))).body.error).toBe('invalid_grant');
    for (const [header, sentence] of [
      [basic(`${clientId}:CANARY-secret`), /no secret/],
      [basic(clientId), /malformed/],
      ['Basic', /malformed/],
    ] as const) {
      const { status, headers, body } = await refreshWith(header);
      expect([status, body.error]).toEqual([401, 'invalid_client']);
      expect(headers.get('www-authenticate')).toBe('Basic realm="oauth"');
      expect(body.error_description).toMatch(sentence);
    }
  });

  test('is ignored when the body names a client', async () => {
    const header = basic('proxy:CANARY-password-of-a-proxy');
    expect((await refreshWith(header, { client_id: clientId })).status).toBe(200);
  });
});

describe('an authorization request', () => {
  const codeChallenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URbuGJSstw-cM';
  const authorizeWith = async (parameters: Record<string, string | undefined>) => {
    const allParameters = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      code_challenge: `${codeChallenge}M`.slice(0, 43),
      state: 's',
      ...parameters,
    };
    const givenParameters = Object.entries(allParameters).filter(
      (pair): pair is [string, string] => pair[1] !== undefined,
    );
    return person.browser.open(
      `/oauth/authorize?${new URLSearchParams(givenParameters).toString()}`,
    );
  };

  test.for<[what: string, parameters: Record<string, string | undefined>, error: string]>([
    ['without code_challenge', { code_challenge: undefined }, 'invalid_request'],
    ['with the plain challenge method', { code_challenge_method: 'plain' }, 'invalid_request'],
    [
      'with a challenge method but no challenge',
      { code_challenge: undefined, code_challenge_method: 'S256' },
      'invalid_request',
    ],
    ['with a malformed code_challenge', { code_challenge: 'short' }, 'invalid_request'],
    ['for response_type token', { response_type: 'token' }, 'unsupported_response_type'],
    [
      'for response_type code id_token',
      { response_type: 'code id_token' },
      'unsupported_response_type',
    ],
    ['without response_type', { response_type: undefined }, 'invalid_request'],
    ['with an unknown scope', { scope: 'admin' }, 'invalid_scope'],
    ['for another resource', { resource: 'https://other.example' }, 'invalid_target'],
    ['for a resource without a host', { resource: '/mcp' }, 'invalid_target'],
    ['with a request object', { request: 'x' }, 'request_not_supported'],
    ['with request_uri', { request_uri: 'https://evil.example/x' }, 'request_uri_not_supported'],
    ['with another response mode', { response_mode: 'form_post' }, 'unsupported_response_mode'],
    ['with prompt none and consent', { prompt: 'none consent' }, 'invalid_request'],
    ['with an unknown prompt', { prompt: 'create' }, 'invalid_request'],
  ])('%s is refused with an error at the redirect URI', async ([, parameters, error]) => {
    const { leavesTo } = await authorizeWith(parameters);
    expect(leavesTo && leavesTo.origin + leavesTo.pathname).toBe(redirectUri);
    // The error of an unsupported response type is in the fragment, because clients of this type
    // expect the response there.
    const answer = leavesTo?.searchParams.size
      ? leavesTo.searchParams
      : new URLSearchParams(leavesTo?.hash.slice(1));
    expect(Object.fromEntries(answer)).toMatchObject({ error, state: 's', iss: world.url });
  });

  test.for(['', '/', '/mcp', '/mcp/'])(
    'may name the base URL followed by "%s" as its resource, under any name of this machine',
    async (suffix) => {
      const { port } = new URL(world.url);
      for (const name of ['127.0.0.1', 'localhost', '[::1]']) {
        const { leavesTo } = await authorizeWith({ resource: `http://${name}:${port}${suffix}` });
        expect(leavesTo?.searchParams.get('code'), name).toBeTruthy();
      }
    },
  );

  test('is granted the known scopes among unknown ones, and the response lists the granted scopes', async () => {
    const tokens = await world.signInClient(person, {
      clientId,
      scope: 'approvals phone mcp:tools',
    });
    expect(tokens.scope).toBe('approvals');
    const refreshed = await world.post('/oauth/token', {
      grant_type: 'refresh_token',
      client_id: clientId,
      refresh_token: tokens.refresh_token,
      scope: 'approvals phone',
    });
    expect(refreshed.body.scope).toBe('approvals');
  });

  test.for<[what: string, uri: string, isAllowed: boolean]>([
    ['the registered URI', 'http://127.0.0.1/callback', true],
    ['another port', 'http://127.0.0.1:1/callback', true],
    ['another port', 'http://127.0.0.1:65535/callback', true],
    ['another path', 'http://127.0.0.1/callback2', false],
    ['an additional slash', 'http://127.0.0.1/callback/', false],
    ['a path in another case', 'http://127.0.0.1/Callback', false],
    ['an additional query', 'http://127.0.0.1/callback?x=1', false],
    ['a fragment', 'http://127.0.0.1/callback#x', false],
    ['a user name', 'http://u@127.0.0.1/callback', false],
    ['a user name and a port', 'http://u:p@127.0.0.1:9/callback', false],
    ['dot segments', 'http://127.0.0.1/a/../callback', false],
    ['another loopback name', 'http://localhost/callback', false],
    ['another loopback address', 'http://127.0.0.2/callback', false],
    ['https', 'https://127.0.0.1/callback', false],
    ['another host', 'https://evil.example/callback', false],
    ['an invalid port', 'http://127.0.0.1:x/callback', false],
    ['an encoded letter', 'http://127.0.0.1/%63allback', false],
  ])('may redirect to %s, here %s: %s', async ([, uri, isAllowed]) => {
    const { status, leavesTo, html } = await authorizeWith({ redirect_uri: uri });
    if (isAllowed) return expect(leavesTo?.searchParams.get('code')).toBeTruthy();
    expect([status, leavesTo]).toEqual([400, null]);
    expect(html).toContain('This link does not work');
  });

  test('is refused without a redirect when the client is unknown', async () => {
    for (const id of ['unknown', '', "'; drop table", 'x'.repeat(600), undefined]) {
      const { status, leavesTo } = await authorizeWith({ client_id: id });
      expect([status, leavesTo], id).toEqual([400, null]);
    }
  });

  test('is refused with a duplicate parameter', async () => {
    const { url } = createAuthorizationRequest(world.url, { client_id: clientId });
    for (const repeatedName of [
      'code_challenge=x',
      'scope=mcp&scope=mcp',
      'state=y',
      'response_type=code',
    ]) {
      const page = await person.browser.open(`${url}&${repeatedName}`);
      expect(page.leavesTo?.searchParams.get('error'), repeatedName).toBe('invalid_request');
    }
    const page = await person.browser.open(`${url}&redirect_uri=https://evil.example`);
    expect([page.status, page.leavesTo]).toEqual([400, null]);
  });
});

test('the authorization server sets no cookie, even when a request reaches it directly', async () => {
  const { oauthUrl } = world.replicas[0] ?? { oauthUrl: '' };
  const { url } = createAuthorizationRequest(oauthUrl, { client_id: clientId });
  for (const headers of [{}, { cookie: `gateway_session=${person.sessionToken}` }]) {
    for (const address of [url, `${url}&prompt=consent`]) {
      const reply = await fetch(address, { redirect: 'manual', headers });
      expect([reply.status, reply.headers.get('set-cookie')]).toEqual([303, null]);
    }
  }
});

describe('a token request', () => {
  const createFreshForm = async () => {
    const { url, verifier } = createAuthorizationRequest(world.url, { client_id: clientId });
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
    ['a wrong code_verifier', { code_verifier: 'x'.repeat(43) }, 400, 'invalid_grant'],
    ['another redirect URI', { redirect_uri: 'http://127.0.0.1/callback' }, 400, 'invalid_grant'],
    ['an unknown code', { code: 'x'.repeat(43) }, 400, 'invalid_grant'],
    ['an unknown client', { client_id: 'unknown' }, 401, 'invalid_client'],
    ['another grant type', { grant_type: 'password' }, 400, 'unsupported_grant_type'],
    ['another audience', { resource: 'https://other.example' }, 400, 'invalid_target'],
  ])('is refused with %s', async ([, change, status, error]) => {
    const reply = await world.post('/oauth/token', { ...(await createFreshForm()), ...change });
    expect(reply).toMatchObject({ status, body: { error } });
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(JSON.stringify(reply.body)).not.toMatch(/stack|node_modules|select /);
  });

  test('is refused with the code of another client', async () => {
    const other = await world.register();
    const reply = await world.post('/oauth/token', {
      ...(await createFreshForm()),
      client_id: other,
    });
    expect(reply).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  });

  test('is refused without a PKCE verifier', async () => {
    const { code_verifier: _verifier, ...rest } = await createFreshForm();
    expect((await world.post('/oauth/token', rest)).body.error).toBe('invalid_grant');
  });

  test('is refused when the code is older than a minute', async () => {
    const form = await createFreshForm();
    await world.db`
      update auth.oauth_token
         set payload = jsonb_set(payload, '{exp}', '1'), expires_at = now()
       where kind = 'code' and consumed_at is null`;
    expect((await world.post('/oauth/token', form)).body.error).toBe('invalid_grant');
  });

  test('is refused when it is in JSON, compressed or too large', async () => {
    const sendTokenRequest = (headers: Record<string, string>, body: string) =>
      fetch(`${world.url}/oauth/token`, { method: 'POST', headers, body });
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await sendTokenRequest({ 'content-type': 'application/json' }, '{}')).status).toBe(400);
    expect((await sendTokenRequest({ ...form, 'content-encoding': 'gzip' }, 'x')).status).toBe(415);
    expect((await sendTokenRequest(form, 'x'.repeat(70_000))).status).toBe(413);
  });

  test('may request, with a refresh token, fewer scopes and later all granted scopes again, but never other scopes', async () => {
    const tokens = await world.signInClient(person, { clientId, scope: 'actions:call approvals' });
    const refresh = (refreshToken: string, scope?: string) =>
      world.post('/oauth/token', {
        grant_type: 'refresh_token',
        client_id: clientId,
        refresh_token: refreshToken,
        ...(scope === undefined ? {} : { scope }),
      });
    const widerAnswer = await refresh(tokens.refresh_token, 'mcp');
    expect(widerAnswer).toMatchObject({ status: 400, body: { error: 'invalid_scope' } });
    const fewerScopesReply = await refresh(tokens.refresh_token, 'approvals offline_access');
    expect(fewerScopesReply.body.scope).toBe('approvals');
    const me = await createCallerWithKey(world.url, fewerScopesReply.body.access_token).get(
      '/v1/identities/me',
    );
    expect(me.body.scopes).toEqual(['approvals']);
    const whole = await refresh(fewerScopesReply.body.refresh_token);
    expect(whole.body.scope).toBe('actions:call approvals');
  });

  test('is refused with the refresh token of another client, and changes nothing', async () => {
    const tokens = await world.signInClient(person, { clientId });
    const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
    const stolenAnswer = await world.post('/oauth/token', {
      ...form,
      client_id: await world.register(),
    });
    expect(stolenAnswer.body.error).toBe('invalid_grant');
    expect((await world.post('/oauth/token', { ...form, client_id: clientId })).status).toBe(200);
  });
});

describe('the credentials that auth issues', () => {
  test('are refused where credentials of another kind are required', async () => {
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
    const page = await fetch(createAuthorizationRequest(world.url, { client_id: clientId }).url, {
      redirect: 'manual',
      headers: { cookie: `gateway_session=${access}; _session=${access}` },
    });
    expect(page.headers.get('location')).toMatch(/^\/sign-in\?/);
  });

  test('allow only what their scopes allow; credentials of an agent allow nothing that is reserved for users', async () => {
    const tokens = await world.signInClient(await world.person(), { scope: 'actions:read' });
    const caller = createCallerWithKey(world.url, tokens.access_token);
    expect((await caller.get('/v1/identities')).body).toMatchObject({
      error: 'insufficient_scope',
    });
    const whole = createCallerWithKey(world.url, (await world.signInClient(person)).access_token);
    expect((await whole.get('/v1/identities')).status).toBe(200);
    const agent = await whole.post('/v1/identities/agents', { name: 'x' });
    expect(agent.body).toMatchObject({ error: 'insufficient_scope' });
  });

  test('appear in no table of the database', async () => {
    const { url, verifier } = createAuthorizationRequest(world.url, { client_id: clientId });
    const page = await person.browser.open(`${url}&prompt=consent`);
    const tokens = await world.signInClient(person, { clientId });
    const waitingId = page.url.searchParams.get('id') ?? '';
    const unusedPage = await person.browser.open(url);
    const code = unusedPage.leavesTo?.searchParams.get('code') ?? '';
    expect([waitingId.length, code.length]).toEqual([43, 43]);

    const tables = await world.db<{ name: string }[]>`
      select table_name as name from information_schema.tables where table_schema = 'auth'`;
    const secrets = [
      tokens.access_token,
      tokens.refresh_token,
      code,
      verifier,
      waitingId,
      person.sessionToken,
    ];
    let rows = 0;
    for (const { name } of tables) {
      const databaseDump = JSON.stringify(
        await world.db`select to_jsonb(t)::text as row from auth.${world.db(name)} t`,
      );
      rows += databaseDump.length;
      for (const secret of secrets) expect(databaseDump.includes(secret), name).toBe(false);
    }
    expect(rows).toBeGreaterThan(1_000);
  });
});

async function get(path: string) {
  const reply = await fetch(`${world.url}${path}`, {
    redirect: 'manual',
    // Without this header, the gateway would respond with a page of the dashboard.
    headers: { accept: 'application/json' },
  });
  const text = await reply.text();
  const body = text.startsWith('{') ? JSON.parse(text) : text;
  return { status: reply.status, headers: reply.headers, body };
}
