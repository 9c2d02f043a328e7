import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { sendRequest, createStage } from '../neighbours.testing.ts';
import type { Stage } from '../neighbours.testing.ts';
import type { RunningGateway } from '../start.ts';

interface ArrivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

const stack = new AsyncDisposableStack();
let stage: Stage;
let gateway: RunningGateway;
let url: string;
const arrivedRequests: ArrivedRequest[] = [];
/** Answers the requests that arrive at the stand-in for auth's OAuth listener. */
let answerRequest: (reply: ServerResponse) => void;
let oauthUrl: string;

beforeAll(async () => {
  stage = stack.use(await createStage());
  const auth = createServer((request, reply) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      arrivedRequests.push({ method, url: path, headers, body });
      answerRequest(reply);
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

const sendJson = (reply: ServerResponse) =>
  reply.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');

describe('requests forwarded to auth', () => {
  test('keep only the headers that auth needs, and get the gateway’s host and the client’s address', async () => {
    answerRequest = sendJson;
    arrivedRequests.length = 0;
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

    const [{ headers, ...rest }] = arrivedRequests as [ArrivedRequest];
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

  test('contain the client address that a trusted proxy named', async () => {
    answerRequest = sendJson;
    arrivedRequests.length = 0;
    await using gatewayBehindProxy = await stage.gateway({
      OAUTH_URL: oauthUrl,
      TRUSTED_PROXIES: '127.0.0.1',
    });
    await sendRequest(gatewayBehindProxy.url, '/.well-known/oauth-authorization-server', {
      headers: { 'x-forwarded-for': '203.0.113.7' },
    });
    expect(arrivedRequests[0]?.headers['x-forwarded-for']).toBe('203.0.113.7');
  });

  test('are refused if their body is too large or their path is unknown', async () => {
    answerRequest = sendJson;
    arrivedRequests.length = 0;
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const answerToLargeBody = await sendRequest(url, '/oauth/token', {
      body: 'x'.repeat(65_537),
      headers: form,
    });
    expect(answerToLargeBody.status).toBe(413);
    const registration = await sendRequest(url, '/oauth/register', { body: 'x'.repeat(16_385) });
    expect(registration.status).toBe(413);
    for (const path of ['/oauth', '/oauth/x', '/oauth/authorize/a/b', '/.well-known/x']) {
      expect((await sendRequest(url, path)).status, path).toBe(404);
    }
    const putAnswer = await sendRequest(url, '/oauth/token', { method: 'PUT', body: '' });
    expect([putAnswer.status, putAnswer.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
    expect((await sendRequest(url, '/oauth/authorize', { method: 'HEAD' })).status).toBe(405);
    expect(arrivedRequests).toEqual([]);
  });
});

describe('answers of auth', () => {
  test('are passed on without cookies, and redirects are not followed', async () => {
    arrivedRequests.length = 0;
    answerRequest = (reply) =>
      reply
        .writeHead(303, {
          location: 'https://client.example/cb?code=CANARY-code',
          'set-cookie': 'x=1',
          server: 'internal',
          'x-powered-by': 'internal',
          'cache-control': 'no-store',
        })
        .end();
    const reply = await sendRequest(url, '/oauth/authorize?client_id=x');

    expect(reply.status).toBe(303);
    expect(reply.headers.get('location')).toBe('https://client.example/cb?code=CANARY-code');
    for (const name of ['set-cookie', 'server', 'x-powered-by']) {
      expect(reply.headers.get(name), name).toBeNull();
    }
    expect(reply.headers.get('referrer-policy')).toBe('no-referrer');
    expect(arrivedRequests).toHaveLength(1);
  });

  test('can be read from other origins only on routes that use no cookie', async () => {
    answerRequest = (reply) => reply.writeHead(204, { 'access-control-allow-origin': '*' }).end();
    const preflight = {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
    };
    for (const path of ['/oauth/register', '/oauth/token', '/oauth/revoke']) {
      const reply = await sendRequest(url, path, preflight);
      expect([reply.status, reply.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
      expect(reply.headers.get('access-control-allow-credentials')).toBeNull();
    }
    for (const path of ['/oauth/consent', '/oauth/authorize', '/v1/identities/me']) {
      const reply = await sendRequest(url, path, preflight);
      expect([reply.status, reply.headers.get('access-control-allow-origin')]).toEqual([405, null]);
    }
  });

  test('are replaced by a 503 with an error code if auth is down, slow or not configured', async () => {
    answerRequest = (reply) => reply.destroy();
    const answerToBroken = await sendRequest(url, '/.well-known/oauth-authorization-server');
    expect([answerToBroken.status, answerToBroken.body['error']]).toEqual([503, 'unavailable']);
    await using gatewayWithoutAuth = await stage.gateway({ OAUTH_URL: 'http://127.0.0.1:1' });
    await using gatewayWithoutUrl = await stage.gateway();
    for (const each of [gatewayWithoutAuth, gatewayWithoutUrl]) {
      const reply = await sendRequest(each.url, '/oauth/token', { method: 'POST', body: '{}' });
      expect(reply.status).toBe(503);
      expect(reply.body).toMatchObject({ error: 'unavailable', component: 'auth' });
      expect(reply.headers.get('retry-after')).toBe('1');
    }
  });
});

test('client metadata with a duplicate name or too much nesting is not forwarded', async () => {
  answerRequest = sendJson;
  arrivedRequests.length = 0;
  await using otherGateway = await stage.gateway({ OAUTH_URL: oauthUrl });
  const duplicateMember =
    '{"redirect_uris":["https://a.example"],"redirect_uris":["https://b.example"]}';
  const deepJson = '['.repeat(100) + ']'.repeat(100);
  const register = (body: string) => sendRequest(otherGateway.url, '/oauth/register', { body });

  const refusal = { error: 'invalid_client_metadata', error_description: expect.any(String) };
  expect(await register(duplicateMember)).toMatchObject({ status: 400, body: refusal });
  expect(await register(deepJson)).toMatchObject({ status: 413, body: refusal });
  expect(arrivedRequests).toEqual([]);
  expect((await register('{"redirect_uris":["https://a.example"]}')).status).toBe(200);
  expect(arrivedRequests).toHaveLength(1);
});

test('client registrations are limited per address and hour', async () => {
  answerRequest = sendJson;
  const register = () => sendRequest(url, '/oauth/register', { body: {} });
  const statuses: number[] = [];
  for (let n = 0; n < 4; n += 1) statuses.push((await register()).status);
  const refusedAnswer = await register();

  expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(3);
  expect(refusedAnswer).toMatchObject({ status: 429, body: { error: 'rate_limited' } });
  expect(refusedAnswer.headers.get('ratelimit-policy')).toBe('"registration";q=3;w=3600');
  expect(Number(refusedAnswer.headers.get('retry-after'))).toBeGreaterThan(600);
});
