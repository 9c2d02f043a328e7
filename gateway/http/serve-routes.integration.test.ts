import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { AppError } from '#errors';
import { sendRequest, createStage } from '../neighbours.testing.ts';
import type { Stage } from '../neighbours.testing.ts';
import { createAgentPrincipal, createUserPrincipal } from '../principals.testing.ts';
import type { RunningGateway } from '../start.ts';

let stage: Stage;
let gateway: RunningGateway;
let url: string;

beforeAll(async () => {
  stage = await createStage();
  gateway = await stage.gateway({ CAP_REQUEST_BODY_BYTES: '20000', CAP_JSON_LIST_ITEMS: '100' });
  url = gateway.url;
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const emptyPage = { items: [], next_cursor: null };

describe('authentication', () => {
  test('a request without a credential gets 401 and a challenge without an error code', async () => {
    const { status, headers, body } = await sendRequest(url, '/v1/identities');

    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toMatch(
      /^Bearer resource_metadata="http.*\/\.well-known\/oauth-protected-resource"$/,
    );
    expect(body).toEqual({
      error: 'unauthenticated',
      message: expect.any(String),
      request_id: expect.stringMatching(uuid),
    });
    expect(headers.get('x-request-id')).toBe(body['request_id']);
  });

  test('an invalid bearer token gets a challenge with an error code', async () => {
    const { status, headers } = await sendRequest(url, '/v1/identities', { token: 'nonsense' });

    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toMatch(
      /^Bearer resource_metadata=".*", error="invalid_token", /,
    );
  });

  test.for(['Basic YTpi', 'Bearer', 'Bearer two words', `Bearer ${'x'.repeat(600)}`])(
    'the Authorization header %s is refused',
    async (authorization) => {
      const { status } = await sendRequest(url, '/v1/identities', { headers: { authorization } });

      expect(status).toBe(401);
    },
  );

  test('a bearer token is passed to the component as a principal signed by auth', async () => {
    const claims = createAgentPrincipal();
    const token = stage.tokenFor(claims);
    let lastRequest: unknown;
    stage.standIns.auth.listIdentities = async (request) => {
      lastRequest = request;
      return emptyPage;
    };

    const { status, body } = await sendRequest(url, '/v1/identities?limit=7', { token });

    expect(status).toBe(200);
    expect(body).toEqual(emptyPage);
    expect(lastRequest).toMatchObject({ page: { limit: 7, cursor: null } });
    const { principal } = lastRequest as { principal: string };
    const payload = Buffer.from(principal.split('.')[0] ?? '', 'base64url').toString();
    expect(JSON.parse(payload)).toMatchObject({ identityId: claims.identityId });
  });

  test('a credential without the scope gets 403 and the name of the scope', async () => {
    const token = stage.tokenFor({ scopes: ['actions:read'] });

    const { status, headers, body } = await sendRequest(url, '/v1/approvals', { token });

    expect(status).toBe(403);
    expect(body).toMatchObject({ error: 'insufficient_scope', scope: 'approvals' });
    expect(headers.get('www-authenticate')).toContain('scope="approvals"');
  });

  test('an agent key is refused on a route for users', async () => {
    const token = stage.tokenFor();

    const { status, body } = await sendRequest(url, '/v1/secrets', {
      token,
      body: { name: 'github_token', value: 'CANARY-1' },
    });

    expect(status).toBe(403);
    expect(body['error']).toBe('insufficient_scope');
  });

  test('happens once for concurrent requests, and its result is cached until auth announces a change', async () => {
    const token = stage.tokenFor();
    stage.standIns.auth.listIdentities = async () => emptyPage;
    const lookUpsBefore = stage.lookUps.count;
    await Promise.all(
      Array.from({ length: 5 }, () => sendRequest(url, '/v1/identities', { token })),
    );
    expect(stage.lookUps.count - lookUpsBefore).toBe(1);

    stage.claimsByToken.delete(token);
    stage.buses.auth.nats.publish('evt.auth.identity.revoked', '{}');
    await stage.buses.auth.nats.flush();

    await expect
      .poll(async () => (await sendRequest(url, '/v1/identities', { token })).status)
      .toBe(401);
  });
});

describe('a dashboard session', () => {
  const createSessionHeaders = () => {
    const token = stage.tokenFor(createUserPrincipal());
    return { cookie: `theme=dark; gateway_session=${token}` };
  };

  test('may read with nothing but its cookie', async () => {
    stage.standIns.auth.listIdentities = async () => emptyPage;

    const { status } = await sendRequest(url, '/v1/identities', {
      headers: createSessionHeaders(),
    });

    expect(status).toBe(200);
  });

  test.for<[name: string, headers: Record<string, string>, status: number]>([
    ['201 for our own Origin', { origin: 'OWN' }, 201],
    ['201 for Sec-Fetch-Site: same-origin', { 'sec-fetch-site': 'same-origin' }, 201],
    ['403 without Origin', {}, 403],
    ['403 for a foreign Origin', { origin: 'https://evil.example' }, 403],
    ['403 for the Origin null', { origin: 'null' }, 403],
    ['403 for a cross-site request', { 'sec-fetch-site': 'cross-site' }, 403],
    [
      '403 for a request from another subdomain',
      { origin: 'https://evil.example', 'sec-fetch-site': 'same-site' },
      403,
    ],
  ])('that tries to write gets %s', async ([, headers, expected]) => {
    stage.standIns.executor.createSecret = async () => ({ ...createStoredSecret(), version: 1 });
    const withOwnOrigin = headers['origin'] === 'OWN' ? { origin: new URL(url).origin } : headers;

    const { status, body } = await sendRequest(url, '/v1/secrets', {
      body: { name: 'github_token', value: 'CANARY-1' },
      headers: { ...createSessionHeaders(), ...withOwnOrigin },
    });

    expect(status).toBe(expected);
    if (expected === 403) expect(body['error']).toBe('forbidden');
  });

  test('is ignored when the request also has a bearer token', async () => {
    const { status } = await sendRequest(url, '/v1/identities', {
      token: 'wrong',
      headers: createSessionHeaders(),
    });

    expect(status).toBe(401);
  });

  test('ends when the user signs out, which also clears the cookie', async () => {
    const token = stage.tokenFor(createUserPrincipal());
    const headers = { cookie: `gateway_session=${token}`, origin: new URL(url).origin };
    stage.standIns.auth.listIdentities = async () => emptyPage;
    stage.standIns.auth.signOut = async () => {
      stage.claimsByToken.delete(token);
      return {};
    };
    expect((await sendRequest(url, '/v1/identities', { headers })).status).toBe(200);

    const signOutAnswer = await sendRequest(url, '/v1/sign-out', { method: 'POST', headers });
    const answerAfterSignOut = await sendRequest(url, '/v1/identities', { headers });

    expect(signOutAnswer.status).toBe(204);
    expect(signOutAnswer.headers.get('set-cookie')).toMatch(
      /^gateway_session=; Path=\/; Max-Age=0; HttpOnly/,
    );
    expect(answerAfterSignOut.status).toBe(401);
  });
});

describe('bad input', () => {
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    sendRequest(url, '/v1/actions/call', {
      token: stage.tokenFor(),
      method: 'POST',
      body,
      headers,
    });

  test('an unknown field is named in the error, with the most similar known field', async () => {
    const { status, body } = await post({ service: 'github', acton: 'issues.get' });

    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: 'invalid_request',
      issues: [{ path: 'acton', message: 'is not a known field', did_you_mean: 'action' }],
    });
  });

  test.for<[name: string, body: unknown]>([
    ['broken JSON', '{"service": '],
    ['a body that is a number', '12'],
    ['an empty body', ''],
    [
      'a name that occurs twice',
      '{"service":"github","action":"list_items","action":"create_item"}',
    ],
    [
      'a name that occurs twice in params as JSON text',
      { service: 'github', action: 'a', params: '{"a":1,"a":2}' },
    ],
    ['the name __proto__', '{"__proto__": {"admin": true}}'],
    ['the name constructor', '{"params": {"constructor": {"prototype": {}}}}'],
    ['text that is not UTF-8', new Uint8Array([0x22, 0xff, 0xfe, 0x22])],
    ['a field with a wrong type', { service: 5, action: 'a' }],
  ])('%s is refused as invalid_request', async ([, sent]) => {
    const { status, body, headers } = await post(sent);

    expect(status).toBe(400);
    expect(body['error']).toBe('invalid_request');
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  test.for<[name: string, body: unknown, limit: string]>([
    ['a body with 65 levels of nesting', `${'['.repeat(65)}${']'.repeat(65)}`, 'json_depth'],
    ['a list that is too long', `{"params":[${'0,'.repeat(101)}0]}`, 'json_list_items'],
    [
      'a list that is too long, in params as JSON text',
      { service: 'a', action: 'a', params: `{"a":[${'0,'.repeat(101)}0]}` },
      'json_list_items',
    ],
  ])('%s is refused as too_large, naming the limit', async ([, sent, limit]) => {
    const { status, body } = await post(sent);

    expect(status).toBe(413);
    expect(body).toMatchObject({ error: 'too_large', limit });
  });

  test('large bodies cost more of the quota: eight of them use it up, eight small bodies do not', async () => {
    // The gateway of the other tests may count as a second replica, which halves the quota.
    await using limited = await stage.gateway({ RATE_IDENTITY_PER_MINUTE: '60' });
    const statusesOf = async (body: unknown) => {
      const token = stage.tokenFor();
      const send = () => sendRequest(limited.url, '/v1/actions/call', { token, body });
      return (await Promise.all(Array.from({ length: 8 }, send))).map(({ status }) => status);
    };

    expect(await statusesOf({})).not.toContain(429);
    expect(await statusesOf({ params: 'x'.repeat(400_000) })).toContain(429);
  });

  test('a body over the size limit is refused as too_large', async () => {
    const { status, body } = await post({ service: 'github', action: 'x'.repeat(30_000) });

    expect(status).toBe(413);
    expect(body).toMatchObject({ error: 'too_large', limit: 'body_bytes' });
    expect(body['max']).toBeGreaterThan(0);
    expect(body['message']).toContain(Number(body['max']).toLocaleString('en'));
  });

  test.for<[name: string, headers: Record<string, string>]>([
    ['a body of type text/plain', { 'content-type': 'text/plain' }],
    ['a form-encoded body', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['a compressed body', { 'content-encoding': 'gzip' }],
    ['a body that is declared as UTF-16', { 'content-type': 'application/json; charset=utf-16' }],
  ])('%s is refused as unsupported_media_type', async ([, headers]) => {
    const { status, body } = await post('{}', headers);

    expect(status).toBe(415);
    expect(body['error']).toBe('unsupported_media_type');
  });

  test('the body of an unauthenticated request is not read', async () => {
    const { status } = await sendRequest(url, '/v1/actions/call', { body: '{"broken' });

    expect(status).toBe(401);
  });

  test('a malformed id is refused as invalid_request, and so is an unknown query parameter', async () => {
    const token = stage.tokenFor();

    const wrongId = await sendRequest(url, '/v1/approvals/12', { token });
    const wrongQuery = await sendRequest(url, '/v1/approvals?stauts=open', { token });
    const noQuery = await sendRequest(url, '/v1/status?verbose=1', { token });

    expect(wrongId).toMatchObject({ status: 400, body: { issues: [{ path: 'id' }] } });
    expect(wrongQuery).toMatchObject({
      status: 400,
      body: { issues: [{ path: 'stauts', did_you_mean: 'status' }] },
    });
    expect(noQuery).toMatchObject({ status: 400, body: { issues: [{ path: 'verbose' }] } });
  });

  test('a body is refused on a route that takes no body, unless the body is an empty object', async () => {
    const claims = createUserPrincipal();
    const path = `/v1/identities/${randomUUID()}/revoke`;
    const headers = {
      cookie: `gateway_session=${stage.tokenFor(claims)}`,
      origin: new URL(url).origin,
    };
    stage.standIns.auth.revokeIdentity = async () => {
      throw new AppError('not_found', 'There is no such identity.');
    };

    const refusedAnswer = await sendRequest(url, path, { body: { force: true }, headers });
    const acceptedAnswer = await sendRequest(url, path, { body: {}, headers });

    expect(refusedAnswer).toMatchObject({ status: 400, body: { issues: [{ path: 'force' }] } });
    expect(acceptedAnswer.status).toBe(404);
  });
});

describe('requests to public routes', () => {
  test('are counted before their body is read, even if it is malformed', async () => {
    // The gateway of the other tests may count as a second replica, which halves the quota.
    await using limited = await stage.gateway({ RATE_SIGN_IN_PER_MINUTE: '6' });
    const trySignIn = (body: string) => sendRequest(limited.url, '/v1/sign-in', { body });

    expect((await trySignIn('{"email":"a","password":[[],[]')).status).toBe(400);
    expect((await trySignIn(`{"password":[${'[],'.repeat(2_000)}[]]}`)).status).toBe(400);
    expect((await trySignIn('[')).status).toBe(400);
    await expect
      .poll(() => trySignIn('['), { interval: 0 })
      .toMatchObject({ status: 429, body: { error: 'rate_limited' } });
  });

  test('may have only a small body', async () => {
    const body = `{"email":"a","password":"${'x'.repeat(8_200)}"}`;

    expect((await sendRequest(url, '/v1/sign-in', { body })).status).toBe(413);
    const headers = { 'content-type': 'application/json' };
    const pageRequest = { method: 'POST', headers, body: JSON.stringify('x'.repeat(17_000)) };
    expect((await fetch(new URL('/sign-in', url), pageRequest)).status).toBe(413);
  });

  test('are refused before their body is read if their address is unknown', async () => {
    const { status, body } = await sendRequest(url, '/v1/nowhere', { body: '{"broken' });

    expect(status).toBe(404);
    expect(body['error']).toBe('not_found');
  });
});

describe('requests that a proxy could interpret differently', () => {
  test.for<[what: string, head: string, status: number]>([
    ['200 for one Host header', 'GET /health/live HTTP/1.1\r\nHost: HOST', 200],
    [
      '400 for two different Host headers',
      'GET /health/live HTTP/1.1\r\nHost: HOST\r\nHost: evil.example',
      400,
    ],
    [
      '400 for two equal Host headers',
      'GET /health/live HTTP/1.1\r\nHost: HOST\r\nhost: HOST',
      400,
    ],
    [
      '200 for a full URL of the gateway as the request target',
      'GET http://HOST/health/live HTTP/1.1\r\nHost: HOST',
      200,
    ],
    [
      '400 for a full URL of another server as the request target',
      'GET http://evil.example/ HTTP/1.1\r\nHost: HOST',
      400,
    ],
    [
      '400 for the health check of another server as the request target',
      'GET http://evil.example/health/live HTTP/1.1\r\nHost: HOST',
      400,
    ],
    [
      '400 for a request target with the scheme ftp',
      'GET ftp://HOST/health/live HTTP/1.1\r\nHost: HOST',
      400,
    ],
  ])('are answered with %s', async ([, head, status]) => {
    const { host, port } = new URL(url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.end(`${head.replaceAll('HOST', host)}\r\nConnection: close\r\n\r\n`);
    const answer = await text(socket);

    expect(answer.split(' ')[1]).toBe(String(status));
  });
});

describe('addresses of the REST API', () => {
  test.for(['/v1/nothing', '/v1', '/v1/approvals/a/b/c', '/oauth/x', '/mcp/x'])(
    'the unknown address %s is answered 404 with an error code',
    async (path) => {
      const { status, body, headers } = await sendRequest(url, path, {
        headers: { accept: '*/*' },
      });

      expect(status).toBe(404);
      expect(body).toMatchObject({ error: 'not_found', request_id: expect.stringMatching(uuid) });
      expect(headers.get('content-type')).toContain('application/json');
    },
  );

  test.for<[method: string, path: string, allow: string]>([
    ['GET', '/v1/actions/call', 'POST'],
    ['DELETE', '/v1/rules', 'GET, HEAD, POST'],
    ['OPTIONS', '/v1/approvals', 'GET, HEAD'],
    ['HEAD', '/v1/events', 'GET'],
    ['PUT', '/v1/openapi.json', 'GET, HEAD'],
  ])('%s %s is answered 405 with the allowed methods', async ([method, path, allow]) => {
    const response = await fetch(new URL(path, url), { method });

    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe(allow);
    if (method !== 'HEAD') {
      expect(await response.json()).toMatchObject({ error: 'invalid_request' });
    }
  });

  test('a HEAD request gets the same answer as GET, without the body', async () => {
    const response = await fetch(new URL('/health/live', url), { method: 'HEAD' });

    expect(response.status).toBe(200);
    expect(await response.text()).toBe('');
  });

  test('a URL that cannot be decoded is refused as invalid_request', async () => {
    const { status, body } = await sendRequest(url, '/v1/services/%zz', {
      token: stage.tokenFor(),
    });

    expect(status).toBe(400);
    expect(body['error']).toBe('invalid_request');
  });

  test('a percent-encoded slash stays within one path segment', async () => {
    let lastRequest: unknown;
    stage.standIns.registry.getService = async ({ name }) => {
      lastRequest = name;
      throw new AppError('unknown_service', 'There is no service org/github.', {
        details: { available: ['jira'] },
      });
    };

    const { status, body } = await sendRequest(url, '/v1/services/org%2Fgithub', {
      token: stage.tokenFor(),
    });

    expect(lastRequest).toBe('org/github');
    expect(status).toBe(404);
    expect(body).toMatchObject({ error: 'unknown_service', available: ['jira'] });
  });
});

test('a service with an impossible name is reported as unknown, with a valid name as a suggestion', async () => {
  const { status, body } = await sendRequest(url, '/v1/services/GitHub', {
    token: stage.tokenFor(),
  });

  expect(status).toBe(404);
  expect(body).toMatchObject({ error: 'unknown_service', did_you_mean: 'github' });
});

describe('errors of components', () => {
  test('an unexpected error reveals nothing to the caller', async () => {
    stage.standIns.auth.listIdentities = async () => {
      throw new Error('relation auth.identity does not exist');
    };

    const { status, body } = await sendRequest(url, '/v1/identities', { token: stage.tokenFor() });

    expect(status).toBe(500);
    expect(Object.keys(body).toSorted()).toEqual(['error', 'message', 'request_id']);
    expect(JSON.stringify(body)).not.toContain('relation');
  });

  test('an answer that violates the contract is not shown to the caller, who gets the error internal', async () => {
    stage.standIns.auth.listIdentities = async () => ({ items: [{ secret: 'CANARY-2' }] }) as never;

    const { status, body } = await sendRequest(url, '/v1/identities', { token: stage.tokenFor() });

    expect(status).toBe(500);
    expect(JSON.stringify(body)).not.toContain('CANARY');
  });

  test('if a component is busy, the error unavailable names it and has Retry-After', async () => {
    stage.standIns.auth.listIdentities = async () => {
      throw new AppError('unavailable', 'The auth component is busy.', {
        details: { component: 'auth', busy: true, lost: false },
      });
    };

    const { status, body, headers } = await sendRequest(url, '/v1/identities', {
      token: stage.tokenFor(),
    });

    expect(status).toBe(503);
    expect(body).toEqual({
      error: 'unavailable',
      message: 'The auth component is busy.',
      request_id: expect.any(String),
      component: 'auth',
    });
    expect(headers.get('retry-after')).toBe('1');
  });
});

describe('status and health', () => {
  test('the status lists each component, and is degraded if one of them does not answer', async () => {
    const { standIns: neighbours } = stage;
    for (const component of Object.values(neighbours)) {
      (component as { ping: () => Promise<object> }).ping = async () => ({});
    }
    neighbours.policy.ping = async () => ({ reading: 'ok' });
    neighbours.audit.ping = async () => ({ reading: 'missing', unreadable: 3 });
    delete neighbours.notifier.ping;

    const { status, body } = await sendRequest(url, '/v1/status', { token: stage.tokenFor() });

    expect(status).toBe(200);
    expect(body['status']).toBe('degraded');
    expect(body['components']).toMatchObject({
      gateway: { status: 'ok' },
      auth: { status: 'ok', latency_ms: expect.any(Number) },
      policy: { status: 'ok', latency_ms: expect.any(Number), reading: 'ok' },
      audit: {
        status: 'degraded',
        latency_ms: expect.any(Number),
        reading: 'missing',
        unreadable: 3,
      },
      notifier: { status: 'unavailable', latency_ms: null },
    });
  });

  test('the status reports the executor as busy, and is degraded, if all slots of the executor are taken', async () => {
    const { standIns: neighbours } = stage;
    for (const component of Object.values(neighbours)) {
      (component as { ping: () => Promise<object> }).ping = async () => ({});
    }
    neighbours.executor.ping = async () => ({ busy: true });
    neighbours.policy.ping = async () => ({ reading: 'ok' });

    const { body } = await sendRequest(url, '/v1/status', { token: stage.tokenFor() });

    expect(body).toMatchObject({
      status: 'degraded',
      components: { executor: { status: 'busy' }, policy: { status: 'ok' } },
    });
  });

  test('the health check requires no credential', async () => {
    expect(await sendRequest(url, '/health/live')).toMatchObject({
      status: 200,
      body: { status: 'ok' },
    });
    expect(await sendRequest(url, '/health/ready')).toMatchObject({
      status: 200,
      body: { status: 'ok' },
    });
  });

  test('the OpenAPI document is public', async () => {
    const { status, body } = await sendRequest(url, '/v1/openapi.json');

    expect(status).toBe(200);
    expect(body['openapi']).toBe('3.1.0');
  });
});

function createStoredSecret() {
  const at = new Date().toISOString();
  return {
    id: randomUUID(),
    name: 'github_token',
    tier: 'user' as const,
    owner_id: randomUUID(),
    description: null,
    current_version: 1,
    allowed_hosts: [],
    created_at: at,
    updated_at: at,
    created_by: randomUUID(),
  };
}
