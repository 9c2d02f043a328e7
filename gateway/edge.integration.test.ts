import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { AppError } from '#errors';
import { ask, createStage } from './neighbours.testing.ts';
import type { Stage } from './neighbours.testing.ts';
import { agent, user } from './principals.testing.ts';
import type { RunningGateway } from './start.ts';

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

describe('authentication at the edge', () => {
  test('without a credential an address answers 401 with a plain challenge', async () => {
    const { status, headers, body } = await ask(url, '/v1/identities');

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

  test('a wrong bearer is told so in the challenge', async () => {
    const { status, headers } = await ask(url, '/v1/identities', { token: 'nonsense' });

    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toMatch(
      /^Bearer resource_metadata=".*", error="invalid_token", /,
    );
  });

  test.for(['Basic YTpi', 'Bearer', 'Bearer two words', `Bearer ${'x'.repeat(600)}`])(
    'the Authorization header %s is refused',
    async (authorization) => {
      const { status } = await ask(url, '/v1/identities', { headers: { authorization } });

      expect(status).toBe(401);
    },
  );

  test('a bearer reaches the component behind the route, as the principal auth signed', async () => {
    const claims = agent();
    const token = stage.tokenFor(claims);
    let asked: unknown;
    stage.neighbours.auth.listIdentities = async (request) => {
      asked = request;
      return emptyPage;
    };

    const { status, body } = await ask(url, '/v1/identities?limit=7', { token });

    expect(status).toBe(200);
    expect(body).toEqual(emptyPage);
    expect(asked).toMatchObject({ page: { limit: 7, cursor: null } });
    const { principal } = asked as { principal: string };
    const payload = Buffer.from(principal.split('.')[0] ?? '', 'base64url').toString();
    expect(JSON.parse(payload)).toMatchObject({ identityId: claims.identityId });
  });

  test('a credential without the scope gets 403 with the scope it lacks', async () => {
    const token = stage.tokenFor({ scopes: ['actions:read'] });

    const { status, headers, body } = await ask(url, '/v1/approvals', { token });

    expect(status).toBe(403);
    expect(body).toMatchObject({ error: 'insufficient_scope', scope: 'approvals' });
    expect(headers.get('www-authenticate')).toContain('scope="approvals"');
  });

  test('an agent key may not do what needs a person', async () => {
    const token = stage.tokenFor();

    const { status, body } = await ask(url, '/v1/secrets', {
      token,
      body: { name: 'github_token', value: 'CANARY-1' },
    });

    expect(status).toBe(403);
    expect(body['error']).toBe('insufficient_scope');
  });

  test('a look-up is shared and kept, until auth announces a change', async () => {
    const token = stage.tokenFor();
    stage.neighbours.auth.listIdentities = async () => emptyPage;
    const before = stage.lookUps.count;
    await Promise.all(Array.from({ length: 5 }, () => ask(url, '/v1/identities', { token })));
    expect(stage.lookUps.count - before).toBe(1);

    stage.accounts.delete(token);
    stage.buses.auth.nats.publish('evt.auth.identity.revoked', '{}');
    await stage.buses.auth.nats.flush();

    await expect.poll(async () => (await ask(url, '/v1/identities', { token })).status).toBe(401);
  });
});

describe('a dashboard session', () => {
  const signedIn = () => {
    const token = stage.tokenFor(user());
    return { cookie: `theme=dark; gateway_session=${token}` };
  };

  test('may read with its cookie alone', async () => {
    stage.neighbours.auth.listIdentities = async () => emptyPage;

    const { status } = await ask(url, '/v1/identities', { headers: signedIn() });

    expect(status).toBe(200);
  });

  test.for<[name: string, headers: Record<string, string>, status: number]>([
    ['our own Origin', { origin: 'OWN' }, 201],
    ['Sec-Fetch-Site: same-origin', { 'sec-fetch-site': 'same-origin' }, 201],
    ['no Origin', {}, 403],
    ['a foreign Origin', { origin: 'https://evil.example' }, 403],
    ['the Origin null', { origin: 'null' }, 403],
    ['a foreign site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['a sibling site', { origin: 'https://evil.example', 'sec-fetch-site': 'same-site' }, 403],
  ])('with %s: may it write?', async ([, headers, expected]) => {
    stage.neighbours.executor.createSecret = async () => ({ ...secretOf(), version: 1 });
    const own = headers['origin'] === 'OWN' ? { origin: new URL(url).origin } : headers;

    const { status, body } = await ask(url, '/v1/secrets', {
      body: { name: 'github_token', value: 'CANARY-1' },
      headers: { ...signedIn(), ...own },
    });

    expect(status).toBe(expected);
    if (expected === 403) expect(body['error']).toBe('forbidden');
  });

  test('beside a bearer does not count', async () => {
    const { status } = await ask(url, '/v1/identities', { token: 'wrong', headers: signedIn() });

    expect(status).toBe(401);
  });

  test('ends with sign-out at once, which takes the cookie back', async () => {
    const token = stage.tokenFor(user());
    const headers = { cookie: `gateway_session=${token}`, origin: new URL(url).origin };
    stage.neighbours.auth.listIdentities = async () => emptyPage;
    stage.neighbours.auth.signOut = async () => {
      stage.accounts.delete(token);
      return {};
    };
    expect((await ask(url, '/v1/identities', { headers })).status).toBe(200);

    const signedOut = await ask(url, '/v1/sign-out', { method: 'POST', headers });
    const after = await ask(url, '/v1/identities', { headers });

    expect(signedOut.status).toBe(204);
    expect(signedOut.headers.get('set-cookie')).toMatch(
      /^gateway_session=; Path=\/; Max-Age=0; HttpOnly/,
    );
    expect(after.status).toBe(401);
  });
});

describe('bad input', () => {
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    ask(url, '/v1/actions/call', { token: stage.tokenFor(), method: 'POST', body, headers });

  test('an unknown field is named, with the nearest known one', async () => {
    const { status, body } = await post({ service: 'github', acton: 'issues.get' });

    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: 'invalid_request',
      issues: [{ path: 'acton', message: 'is not a known field', did_you_mean: 'action' }],
    });
  });

  test.for<[name: string, body: unknown]>([
    ['broken JSON', '{"service": '],
    ['a number alone', '12'],
    ['an empty body', ''],
    ['a name twice', '{"service":"github","action":"list_items","action":"create_item"}'],
    ['a name twice in params as text', { service: 'github', action: 'a', params: '{"a":1,"a":2}' }],
    ['__proto__', '{"__proto__": {"admin": true}}'],
    ['constructor', '{"params": {"constructor": {"prototype": {}}}}'],
    ['text that is not UTF-8', new Uint8Array([0x22, 0xff, 0xfe, 0x22])],
    ['a wrong type', { service: 5, action: 'a' }],
  ])('%s is refused as invalid_request', async ([, sent]) => {
    const { status, body, headers } = await post(sent);

    expect(status).toBe(400);
    expect(body['error']).toBe('invalid_request');
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  test.for<[name: string, body: unknown, limit: string]>([
    ['65 levels', `${'['.repeat(65)}${']'.repeat(65)}`, 'json_depth'],
    ['a long list', `{"params":[${'0,'.repeat(101)}0]}`, 'json_list_items'],
    [
      'a long list in params as text',
      { service: 'a', action: 'a', params: `{"a":[${'0,'.repeat(101)}0]}` },
      'json_list_items',
    ],
  ])('%s is too_large, with the limit', async ([, sent, limit]) => {
    const { status, body } = await post(sent);

    expect(status).toBe(413);
    expect(body).toMatchObject({ error: 'too_large', limit });
  });

  test('large bodies use the budget up where as many small ones do not', async () => {
    // The gateway of the other tests may count as a second replica, with half of the budget.
    await using limited = await stage.gateway({ RATE_IDENTITY_PER_MINUTE: '60' });
    const statusesOf = async (body: unknown) => {
      const token = stage.tokenFor();
      const send = () => ask(limited.url, '/v1/actions/call', { token, body });
      return (await Promise.all(Array.from({ length: 8 }, send))).map(({ status }) => status);
    };

    expect(await statusesOf({})).not.toContain(429);
    expect(await statusesOf({ params: 'x'.repeat(400_000) })).toContain(429);
  });

  test('a body over the cap is too_large', async () => {
    const { status, body } = await post({ service: 'github', action: 'x'.repeat(30_000) });

    expect(status).toBe(413);
    expect(body).toMatchObject({ error: 'too_large', limit: 'body_bytes' });
    expect(body['max']).toBeGreaterThan(0);
    expect(body['message']).toContain(Number(body['max']).toLocaleString('en'));
  });

  test.for<[name: string, headers: Record<string, string>]>([
    ['text', { 'content-type': 'text/plain' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['a compressed body', { 'content-encoding': 'gzip' }],
    ['a label of another charset', { 'content-type': 'application/json; charset=utf-16' }],
  ])('%s is unsupported_media_type', async ([, headers]) => {
    const { status, body } = await post('{}', headers);

    expect(status).toBe(415);
    expect(body['error']).toBe('unsupported_media_type');
  });

  test('nothing of a body is read for a stranger', async () => {
    const { status } = await ask(url, '/v1/actions/call', { body: '{"broken' });

    expect(status).toBe(401);
  });

  test('an id that is none, and a query parameter nobody knows, are invalid_request', async () => {
    const token = stage.tokenFor();

    const wrongId = await ask(url, '/v1/approvals/12', { token });
    const wrongQuery = await ask(url, '/v1/approvals?stauts=open', { token });
    const noQuery = await ask(url, '/v1/status?verbose=1', { token });

    expect(wrongId).toMatchObject({ status: 400, body: { issues: [{ path: 'id' }] } });
    expect(wrongQuery).toMatchObject({
      status: 400,
      body: { issues: [{ path: 'stauts', did_you_mean: 'status' }] },
    });
    expect(noQuery).toMatchObject({ status: 400, body: { issues: [{ path: 'verbose' }] } });
  });

  test('a body where none belongs is refused, an empty object is not', async () => {
    const claims = user();
    const path = `/v1/identities/${randomUUID()}/revoke`;
    const headers = {
      cookie: `gateway_session=${stage.tokenFor(claims)}`,
      origin: new URL(url).origin,
    };
    stage.neighbours.auth.revokeIdentity = async () => {
      throw new AppError('not_found', 'There is no such identity.');
    };

    const refused = await ask(url, path, { body: { force: true }, headers });
    const accepted = await ask(url, path, { body: {}, headers });

    expect(refused).toMatchObject({ status: 400, body: { issues: [{ path: 'force' }] } });
    expect(accepted.status).toBe(404);
  });
});

describe('what strangers send', () => {
  test('is counted before it is read, however malformed it is', async () => {
    await using limited = await stage.gateway({ RATE_SIGN_IN_PER_MINUTE: '3' });
    const guess = (body: string) => ask(limited.url, '/v1/sign-in', { body });

    expect((await guess('{"email":"a","password":[[],[]')).status).toBe(400);
    expect((await guess(`{"password":[${'[],'.repeat(2_000)}[]]}`)).status).toBe(400);
    expect((await guess('[')).status).toBe(400);
    expect(await guess('[')).toMatchObject({ status: 429, body: { error: 'rate_limited' } });
  });

  test('is small', async () => {
    const body = `{"email":"a","password":"${'x'.repeat(8_200)}"}`;

    expect((await ask(url, '/v1/sign-in', { body })).status).toBe(413);
    const headers = { 'content-type': 'application/json' };
    const toPage = { method: 'POST', headers, body: JSON.stringify('x'.repeat(17_000)) };
    expect((await fetch(new URL('/sign-in', url), toPage)).status).toBe(413);
  });

  test('to no address is not read', async () => {
    const { status, body } = await ask(url, '/v1/nowhere', { body: '{"broken' });

    expect(status).toBe(404);
    expect(body['error']).toBe('not_found');
  });
});

describe('requests that two readers could read differently', () => {
  test.for<[what: string, head: string, status: number]>([
    ['one Host', 'GET /health/live HTTP/1.1\r\nHost: HOST', 200],
    ['two Hosts', 'GET /health/live HTTP/1.1\r\nHost: HOST\r\nHost: evil.example', 400],
    ['the same Host twice', 'GET /health/live HTTP/1.1\r\nHost: HOST\r\nhost: HOST', 400],
    ['its own URL as the target', 'GET http://HOST/health/live HTTP/1.1\r\nHost: HOST', 200],
    ["another's URL as the target", 'GET http://evil.example/ HTTP/1.1\r\nHost: HOST', 400],
    ["another's health", 'GET http://evil.example/health/live HTTP/1.1\r\nHost: HOST', 400],
    ['another scheme', 'GET ftp://HOST/health/live HTTP/1.1\r\nHost: HOST', 400],
  ])('%s', async ([, head, status]) => {
    const { host, port } = new URL(url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.end(`${head.replaceAll('HOST', host)}\r\nConnection: close\r\n\r\n`);
    const answer = await text(socket);

    expect(answer.split(' ')[1]).toBe(String(status));
  });
});

describe('addresses', () => {
  test.for(['/v1/nothing', '/v1', '/v1/approvals/a/b/c', '/oauth/x', '/mcp/x'])(
    '%s is a typed 404',
    async (path) => {
      const { status, body, headers } = await ask(url, path, { headers: { accept: 'text/html' } });

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
  ])('%s %s is 405 and says what is allowed', async ([method, path, allow]) => {
    const response = await fetch(new URL(path, url), { method });

    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe(allow);
    if (method !== 'HEAD') {
      expect(await response.json()).toMatchObject({ error: 'invalid_request' });
    }
  });

  test('HEAD answers as GET without its body', async () => {
    const response = await fetch(new URL('/health/live', url), { method: 'HEAD' });

    expect(response.status).toBe(200);
    expect(await response.text()).toBe('');
  });

  test('a URL that cannot be decoded is invalid_request', async () => {
    const { status, body } = await ask(url, '/v1/services/%zz', { token: stage.tokenFor() });

    expect(status).toBe(400);
    expect(body['error']).toBe('invalid_request');
  });

  test('a name with a slash is one percent-encoded segment', async () => {
    let asked: unknown;
    stage.neighbours.registry.getService = async ({ name }) => {
      asked = name;
      throw new AppError('unknown_service', 'There is no service org/github.', {
        details: { available: ['jira'] },
      });
    };

    const { status, body } = await ask(url, '/v1/services/org%2Fgithub', {
      token: stage.tokenFor(),
    });

    expect(asked).toBe('org/github');
    expect(status).toBe(404);
    expect(body).toMatchObject({ error: 'unknown_service', available: ['jira'] });
  });
});

test('a service of an impossible name is unknown, with the likely one', async () => {
  const { status, body } = await ask(url, '/v1/services/GitHub', { token: stage.tokenFor() });

  expect(status).toBe(404);
  expect(body).toMatchObject({ error: 'unknown_service', did_you_mean: 'github' });
});

describe('errors of components', () => {
  test('an unforeseen one leaks nothing', async () => {
    stage.neighbours.auth.listIdentities = async () => {
      throw new Error('relation auth.identity does not exist');
    };

    const { status, body } = await ask(url, '/v1/identities', { token: stage.tokenFor() });

    expect(status).toBe(500);
    expect(Object.keys(body).toSorted()).toEqual(['error', 'message', 'request_id']);
    expect(JSON.stringify(body)).not.toContain('relation');
  });

  test('an answer that breaks the contract is internal, and stays inside', async () => {
    stage.neighbours.auth.listIdentities = async () =>
      ({ items: [{ secret: 'CANARY-2' }] }) as never;

    const { status, body } = await ask(url, '/v1/identities', { token: stage.tokenFor() });

    expect(status).toBe(500);
    expect(JSON.stringify(body)).not.toContain('CANARY');
  });

  test('a busy component is unavailable, named, and may be asked again', async () => {
    stage.neighbours.auth.listIdentities = async () => {
      throw new AppError('unavailable', 'The auth component is busy.', {
        details: { component: 'auth', busy: true, lost: false },
      });
    };

    const { status, body, headers } = await ask(url, '/v1/identities', { token: stage.tokenFor() });

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
  test('names each component; one that does not answer makes it degraded', async () => {
    const { neighbours } = stage;
    for (const component of Object.values(neighbours)) {
      (component as { ping: () => Promise<object> }).ping = async () => ({});
    }
    neighbours.policy.ping = async () => ({ reading: 'ok' });
    neighbours.audit.ping = async () => ({ reading: 'missing' });
    delete neighbours.notifier.ping;

    const { status, body } = await ask(url, '/v1/status', { token: stage.tokenFor() });

    expect(status).toBe(200);
    expect(body['status']).toBe('degraded');
    expect(body['components']).toMatchObject({
      gateway: { status: 'ok' },
      auth: { status: 'ok', latency_ms: expect.any(Number) },
      policy: { status: 'ok', latency_ms: expect.any(Number), reading: 'ok' },
      audit: { status: 'degraded', latency_ms: expect.any(Number), reading: 'missing' },
      notifier: { status: 'unavailable', latency_ms: null },
    });
  });

  test('an executor that refuses calls for want of room is busy, and makes it degraded', async () => {
    const { neighbours } = stage;
    for (const component of Object.values(neighbours)) {
      (component as { ping: () => Promise<object> }).ping = async () => ({});
    }
    neighbours.executor.ping = async () => ({ busy: true });
    neighbours.policy.ping = async () => ({ reading: 'ok' });

    const { body } = await ask(url, '/v1/status', { token: stage.tokenFor() });

    expect(body).toMatchObject({
      status: 'degraded',
      components: { executor: { status: 'busy' }, policy: { status: 'ok' } },
    });
  });

  test('health needs no credential', async () => {
    expect(await ask(url, '/health/live')).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect(await ask(url, '/health/ready')).toMatchObject({ status: 200, body: { status: 'ok' } });
  });

  test('the OpenAPI document is public', async () => {
    const { status, body } = await ask(url, '/v1/openapi.json');

    expect(status).toBe(200);
    expect(body['openapi']).toBe('3.1.0');
  });
});

function secretOf() {
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
