import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { ask, createStage } from './neighbours.testing.ts';
import type { Stage } from './neighbours.testing.ts';
import type { RunningGateway } from './start.ts';

interface Arrived {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

const stack = new AsyncDisposableStack();
let stage: Stage;
let gateway: RunningGateway;
let url: string;
const arrived: Arrived[] = [];
/** What auth's listener answers. */
let answer: (reply: ServerResponse) => void;
let oauthUrl: string;

beforeAll(async () => {
  stage = stack.use(await createStage());
  const auth = createServer((request, reply) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      arrived.push({ method, url: path, headers, body });
      answer(reply);
    });
  }).listen(0, '127.0.0.1');
  await once(auth, 'listening');
  stack.defer(() => {
    auth.close();
    auth.closeAllConnections();
  });
  oauthUrl = `http://127.0.0.1:${(auth.address() as AddressInfo).port}`;
  gateway = stack.use(await stage.gateway({ OAUTH_URL: oauthUrl, RATE_REGISTER_PER_HOUR: '3' }));
  url = gateway.url;
});
afterAll(() => stack.disposeAsync());

const json = (reply: ServerResponse) =>
  reply.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');

describe('what is forwarded to auth', () => {
  test('is what means something there, under the gateway’s own name and the client’s address', async () => {
    answer = json;
    arrived.length = 0;
    await fetch(`${url}/oauth/token?x=1`, {
      method: 'POST',
      headers: {
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
        authorization: 'Bearer CANARY-bearer',
        cookie: 'other=CANARY-cookie; gateway_session=CANARY-session; _session=CANARY-own',
        'x-forwarded-for': '203.0.113.7',
        'x-forwarded-host': 'evil.example',
        forwarded: 'for=203.0.113.7;host=evil.example',
        'x-request-id': 'CANARY-id',
        te: 'trailers',
        'x-anything': 'CANARY-header',
      },
      body: 'grant_type=x',
    });

    const [{ headers, ...rest }] = arrived as [Arrived];
    expect(rest).toEqual({ method: 'POST', url: '/oauth/token?x=1', body: 'grant_type=x' });
    const { host } = new URL(url);
    expect(headers).toEqual({
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': '12',
      connection: 'keep-alive',
      cookie: 'gateway_session=CANARY-session',
      host,
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': host,
      'x-forwarded-proto': 'http',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
  });

  test('is the address that a trusted proxy names', async () => {
    answer = json;
    arrived.length = 0;
    await using behind = await stage.gateway({
      OAUTH_URL: oauthUrl,
      TRUSTED_PROXIES: '127.0.0.1',
    });
    await ask(behind.url, '/.well-known/oauth-authorization-server', {
      headers: { 'x-forwarded-for': '203.0.113.7' },
    });
    expect(arrived[0]?.headers['x-forwarded-for']).toBe('203.0.113.7');
  });

  test('is no body beyond its limit, nor anything at an address that does not exist', async () => {
    answer = json;
    arrived.length = 0;
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const large = await ask(url, '/oauth/token', { body: 'x'.repeat(65_537), headers: form });
    expect(large.status).toBe(413);
    const registration = await ask(url, '/oauth/register', { body: 'x'.repeat(16_385) });
    expect(registration.status).toBe(413);
    for (const path of ['/oauth', '/oauth/x', '/oauth/authorize/a/b', '/.well-known/x']) {
      expect((await ask(url, path)).status, path).toBe(404);
    }
    const put = await ask(url, '/oauth/token', { method: 'PUT', body: '' });
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
    expect((await ask(url, '/oauth/authorize', { method: 'HEAD' })).status).toBe(405);
    expect(arrived).toEqual([]);
  });
});

describe('what auth answers', () => {
  test('is passed on without cookies, redirects unfollowed', async () => {
    arrived.length = 0;
    answer = (reply) =>
      reply
        .writeHead(303, {
          location: 'https://client.example/cb?code=CANARY-code',
          'set-cookie': 'x=1',
          server: 'internal',
          'x-powered-by': 'internal',
          'cache-control': 'no-store',
        })
        .end();
    const reply = await ask(url, '/oauth/authorize?client_id=x');

    expect(reply.status).toBe(303);
    expect(reply.headers.get('location')).toBe('https://client.example/cb?code=CANARY-code');
    for (const name of ['set-cookie', 'server', 'x-powered-by']) {
      expect(reply.headers.get(name), name).toBeNull();
    }
    expect(reply.headers.get('referrer-policy')).toBe('no-referrer');
    expect(arrived).toHaveLength(1);
  });

  test('may be read by pages anywhere where no cookie counts, and nowhere else', async () => {
    answer = (reply) => reply.writeHead(204, { 'access-control-allow-origin': '*' }).end();
    const preflight = {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
    };
    for (const path of ['/oauth/register', '/oauth/token', '/oauth/revoke']) {
      const reply = await ask(url, path, preflight);
      expect([reply.status, reply.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
      expect(reply.headers.get('access-control-allow-credentials')).toBeNull();
    }
    for (const path of ['/oauth/consent', '/oauth/authorize', '/v1/identities/me']) {
      const reply = await ask(url, path, preflight);
      expect([reply.status, reply.headers.get('access-control-allow-origin')]).toEqual([405, null]);
    }
  });

  test('is a typed 503 when auth is away, late, or was never named', async () => {
    answer = (reply) => reply.destroy();
    const broken = await ask(url, '/.well-known/oauth-authorization-server');
    expect([broken.status, broken.body['error']]).toEqual([503, 'unavailable']);
    await using away = await stage.gateway({ OAUTH_URL: 'http://127.0.0.1:1' });
    await using alone = await stage.gateway();
    for (const each of [away, alone]) {
      const reply = await ask(each.url, '/oauth/token', { method: 'POST', body: '{}' });
      expect(reply.status).toBe(503);
      expect(reply.body).toMatchObject({ error: 'unavailable', component: 'auth' });
      expect(reply.headers.get('retry-after')).toBe('1');
    }
  });
});

test('client metadata with a name twice, or nested too deep, does not reach auth', async () => {
  answer = json;
  arrived.length = 0;
  await using other = await stage.gateway({ OAUTH_URL: oauthUrl });
  const twice = '{"redirect_uris":["https://a.example"],"redirect_uris":["https://b.example"]}';
  const deep = '['.repeat(100) + ']'.repeat(100);
  const register = (body: string) => ask(other.url, '/oauth/register', { body });

  const refusal = { error: 'invalid_client_metadata', error_description: expect.any(String) };
  expect(await register(twice)).toMatchObject({ status: 400, body: refusal });
  expect(await register(deep)).toMatchObject({ status: 413, body: refusal });
  expect(arrived).toEqual([]);
  expect((await register('{"redirect_uris":["https://a.example"]}')).status).toBe(200);
  expect(arrived).toHaveLength(1);
});

test('registrations of one address are limited by the hour', async () => {
  answer = json;
  const register = () => ask(url, '/oauth/register', { body: {} });
  const statuses: number[] = [];
  for (let n = 0; n < 4; n += 1) statuses.push((await register()).status);
  const refused = await register();

  expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(3);
  expect(refused).toMatchObject({ status: 429, body: { error: 'rate_limited' } });
  expect(refused.headers.get('ratelimit-policy')).toBe('"registration";q=3;w=3600');
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(600);
});
