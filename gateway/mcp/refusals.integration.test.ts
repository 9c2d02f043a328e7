import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { chooseSweepValue } from '../../test/support/sweeps.ts';
import { createStage } from '../neighbours.testing.ts';
import type { Stage } from '../neighbours.testing.ts';
import { createAgentPrincipal, createUserPrincipal } from '../principals.testing.ts';
import type { RunningGateway } from '../start.ts';
import {
  createToolCall,
  createInitializeRequest,
  postMcp,
  createStatelessRequest,
} from './clients.testing.ts';
import { mutate } from './mutations.testing.ts';

let stage: Stage;
let gateway: RunningGateway;
let url: string;
let token: string;

beforeAll(async () => {
  stage = await createStage();
  gateway = await stage.gateway({ RATE_IDENTITY_PER_MINUTE: '0', RATE_USER_PER_MINUTE: '0' });
  url = gateway.url;
  token = stage.tokenFor();
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
const metadata = () => `resource_metadata="${url}/.well-known/oauth-protected-resource/mcp"`;

describe('a request to /mcp', () => {
  test('without a credential gets a challenge that tells the client how to sign in', async () => {
    const { status, headers, body } = await postMcp(url, null, { body: ping });

    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toBe(`Bearer ${metadata()}, scope="mcp"`);
    expect(body).toMatchObject({
      jsonrpc: '2.0',
      id: null,
      error: { data: { error: 'unauthenticated' } },
    });
  });

  test('with an invalid credential gets a challenge with an error code', async () => {
    const { status, headers } = await postMcp(url, 'CANARY-nonsense', { body: ping });

    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toContain(
      `${metadata()}, scope="mcp", error="invalid_token"`,
    );
  });

  test('with a browser session as a cookie or as a bearer token is refused', async () => {
    const session = stage.tokenFor(createUserPrincipal());
    const answerToCookie = await postMcp(url, null, {
      body: ping,
      headers: { cookie: `gateway_session=${session}`, origin: url },
    });

    expect(answerToCookie.status).toBe(401);
  });

  test('is refused before the tool runs if it lacks the scope of the tool; the answer names the scope', async () => {
    const readerToken = stage.tokenFor({ scopes: ['actions:read'] });
    const { status, headers, body } = await postMcp(url, readerToken, {
      body: createToolCall('service_call', { service: 'github', action: 'create_issue' }, 'c1'),
    });

    expect(status).toBe(403);
    expect(headers.get('www-authenticate')).toMatch(
      new RegExp(`^Bearer error="insufficient_scope", scope="actions:call", .*${metadata()}$`),
    );
    expect(body).toMatchObject({ id: 'c1', error: { data: { error: 'insufficient_scope' } } });
    const listAnswer = await postMcp(url, readerToken, { body: { ...ping, method: 'tools/list' } });
    expect(listAnswer.status).toBe(200);
  });

  test('counts against the rate limits', async () => {
    await using limited = await stage.gateway({ RATE_IDENTITY_PER_MINUTE: '1' });
    const busyToken = stage.tokenFor();
    await postMcp(limited.url, busyToken, { body: ping });
    const { status, headers, body } = await postMcp(limited.url, busyToken, { body: ping });

    expect(status).toBe(429);
    expect(headers.get('retry-after')).toMatch(/^\d+$/);
    expect(body.error.data.error).toBe('rate_limited');
  });
});

describe('the MCP transport, with errors in JSON-RPC', () => {
  test.for<[string, number, number, { body: unknown; headers?: Record<string, string> }]>([
    ['a batch', 400, -32_600, { body: [ping, { ...ping, id: 2 }] }],
    ['a batch of one', 400, -32_600, { body: [ping] }],
    ['an empty batch', 400, -32_600, { body: [] }],
    ['a request without a body', 400, -32_600, { body: '' }],
    ['a body that is incomplete JSON', 400, -32_700, { body: '{"jsonrpc":"2.0",' }],
    ['a body that is a JSON string', 400, -32_600, { body: '"ping"' }],
    ['a message of JSON-RPC 1.0', 400, -32_600, { body: { ...ping, jsonrpc: '1.0' } }],
    ['a null id', 400, -32_600, { body: { ...ping, id: null } }],
    ['an object as id', 400, -32_600, { body: { ...ping, id: {} } }],
    ['params that are no object', 400, -32_600, { body: { ...ping, params: [1] } }],
    [
      'a member named __proto__',
      400,
      -32_600,
      { body: '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"__proto__":{}}}' },
    ],
    [
      'a body that is nested too deeply',
      413,
      -32_000,
      { body: `${'['.repeat(70)}${']'.repeat(70)}` },
    ],
    [
      'a body that is too large',
      413,
      -32_000,
      { body: { ...ping, params: { pad: 'x'.repeat(262_144) } } },
    ],
    [
      'a form-encoded body',
      415,
      -32_000,
      { body: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    ],
    ['a compressed body', 415, -32_000, { body: ping, headers: { 'content-encoding': 'gzip' } }],
    [
      'a client that accepts only HTML',
      406,
      -32_600,
      { body: ping, headers: { accept: 'text/html' } },
    ],
    [
      'an unknown MCP version',
      400,
      -32_000,
      { body: ping, headers: { 'mcp-protocol-version': '2024-01-01' } },
    ],
    [
      'a request from a page of another site',
      403,
      -32_000,
      { body: ping, headers: { origin: 'https://evil.example' } },
    ],
    ['a request with the Origin null', 403, -32_000, { body: ping, headers: { origin: 'null' } }],
    ['an unknown session id', 404, -32_001, { body: ping, headers: { 'mcp-session-id': 'abc' } }],
  ])('refuses %s with status %i and error code %i', async ([, status, code, request]) => {
    const reply = await postMcp(url, token, request);

    expect(reply.status).toBe(status);
    expect(reply.headers.get('content-type')).toMatch(/^application\/json/);
    expect(reply.body).toMatchObject({
      jsonrpc: '2.0',
      error: { code, data: { request_id: reply.headers.get('x-request-id') } },
    });
  });

  test('refuses every HTTP method but GET and POST', async () => {
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const reply = await fetch(`${url}/mcp`, {
        method,
        headers: { authorization: `Bearer ${token}` },
      });
      expect(reply.status).toBe(405);
      expect(reply.headers.get('allow')).toBe('GET, POST');
      expect(await reply.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32_600 } });
    }
  });

  test('refuses a foreign Host, even with the gateway’s own Origin', async () => {
    const { default: http } = await import('node:http');
    const status = await new Promise((resolve, reject) => {
      const request = http.request(`${url}/mcp`, {
        method: 'POST',
        headers: {
          host: 'evil.example',
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
        },
      });
      request.on('response', (reply) => resolve(reply.statusCode));
      request.on('error', reject);
      request.end(JSON.stringify(ping));
    });
    expect(status).toBe(403);
  });

  test('refuses headers of MCP version 2026-07-28 that contradict the body', async () => {
    const { body, headers } = createStatelessRequest('tools/call', {
      name: 'service_auth',
      arguments: {},
    });
    for (const wrongHeaders of [
      { 'mcp-method': 'ping' },
      { 'mcp-name': 'service_call' },
      { 'mcp-protocol-version': '2025-11-25' },
    ]) {
      const reply = await postMcp(url, token, { body, headers: { ...headers, ...wrongHeaders } });
      expect(reply.status).toBe(400);
      expect(reply.body.error.code).toBe(-32_020);
    }
  });
});

test.for<[string, object, RegExp]>([
  ['initialize without protocolVersion', { protocolVersion: undefined }, /protocolVersion must be/],
  ['initialize with a number as protocolVersion', { protocolVersion: 1 }, /protocolVersion must/],
  ['initialize without capabilities', { capabilities: undefined }, /capabilities must be/],
  ['initialize with an empty clientInfo', { clientInfo: {} }, /clientInfo.name must be/],
])('%s is answered with a sentence that tells what to send', async ([, change, sentence]) => {
  const request = createInitializeRequest();
  const body = { ...request, params: { ...request.params, ...change } };
  const reply = await postMcp(url, token, { body });
  expect(reply.body).toMatchObject({ id: 0, error: { code: -32_602 } });
  expect(reply.body.error.message).toMatch(sentence);
  expect(reply.body.error.message).toMatch(/^The request .*Send params with protocolVersion.*\.$/);
});

test.for([
  ['tools/call', {}],
  ['tools/call', { name: 7 }],
  ['tools/call', { name: 'service_search', arguments: [] }],
  ['tools/call', { name: 'service_search', arguments: 'x' }],
  ['tools/list', { cursor: 7 }],
] as const)(
  'a malformed %s (%j) is answered with a sentence, in each revision',
  async ([method, params]) => {
    const stateless = createStatelessRequest(method, params);
    for (const request of [{ body: { ...ping, method, params } }, stateless]) {
      const { body } = await postMcp(url, token, request);
      expect(body).toMatchObject({ id: 1, error: { code: -32_602 } });
      expect(body.error.message).toMatch(
        /^The request is malformed: params\.\w+ must be [a-z ]+\.$/,
      );
    }
  },
);

describe('unusual but valid messages', () => {
  test('are accepted if they are notifications, or answers to no request', async () => {
    for (const body of [
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', method: 'notifications/of-our-own' },
      { jsonrpc: '2.0', id: 'never-asked', result: {} },
    ]) {
      const reply = await postMcp(url, token, { body });
      expect([reply.status, reply.body]).toEqual([202, null]);
    }
  });

  test('are answered as an unknown method if they have the method of a notification and an id', async () => {
    const { status, body } = await postMcp(url, token, {
      body: { jsonrpc: '2.0', id: 5, method: 'notifications/initialized' },
    });
    expect([status, body.id, body.error.code]).toEqual([200, 5, -32_601]);
  });

  test('that ask for an older MCP version are answered with the newest version that has sessions', async () => {
    const { body } = await postMcp(url, token, { body: createInitializeRequest('2024-11-05') });
    expect(body.result.protocolVersion).toBe('2025-11-25');
    const answerToOlderVersion = await postMcp(url, token, {
      body: createInitializeRequest('2025-06-18'),
    });
    expect(answerToOlderVersion.body.result.protocolVersion).toBe('2025-06-18');
  });
});

describe('a session', () => {
  const openSession = async (claims: Parameters<Stage['tokenFor']>[0]) => {
    const ownToken = stage.tokenFor(claims);
    const { headers } = await postMcp(url, ownToken, { body: createInitializeRequest() });
    const id = headers.get('mcp-session-id') ?? '';
    expect(id).toMatch(/^[\x21-\x7e]{20,}$/);
    return { own: ownToken, id };
  };
  const pingInSession = async (by: string, id: string, at = url) =>
    (await postMcp(at, by, { body: ping, headers: { 'mcp-session-id': id } })).status;

  test('is valid for its agent, with any key of the agent and on any replica', async () => {
    const claims = createAgentPrincipal();
    const { own, id } = await openSession(claims);
    await using otherReplica = await stage.gateway();

    expect(await pingInSession(own, id)).toBe(200);
    expect(await pingInSession(own, id, otherReplica.url)).toBe(200);
    expect(await pingInSession(stage.tokenFor(claims), id, otherReplica.url)).toBe(200);
  });

  test('does not exist for any other caller', async () => {
    const claims = createAgentPrincipal();
    const { own, id } = await openSession(claims);
    const sibling = { ...createAgentPrincipal(), orgId: claims.orgId, userId: claims.userId };
    const viaClient = {
      ...claims,
      credential: { ...claims.credential, clientId: 'https://client.example' },
    };

    for (const somebody of [
      createAgentPrincipal(),
      sibling,
      viaClient,
      { ...claims, orgId: createAgentPrincipal().orgId },
    ]) {
      expect(await pingInSession(stage.tokenFor(somebody), id)).toBe(404);
    }
    for (const changedId of [`${id}x`, id.slice(0, -1), id.replace('.-.', '.u.'), `${id}.x`]) {
      expect(await pingInSession(own, changedId)).toBe(404);
    }
    const stream = await fetch(`${url}/mcp`, {
      headers: {
        authorization: `Bearer ${stage.tokenFor(sibling)}`,
        accept: 'text/event-stream',
        'mcp-session-id': id,
      },
    });
    expect(stream.status).toBe(404);
  });
});

const frames = chooseSweepValue({ sampled: 1_000, whole: 5_000 });

describe(`${frames} mutated JSON-RPC messages`, () => {
  test('are all answered in JSON, and none with a 5xx', { timeout: 120_000 }, async () => {
    const seeds = [
      { body: createInitializeRequest(), headers: {} },
      { body: createToolCall('service_auth', { operation: 'whoami' }), headers: {} },
      {
        body: createToolCall('service_call', {
          service: 'github',
          action: 'x',
          params: { a: [1, { b: null }] },
        }),
        headers: {},
      },
      createStatelessRequest('tools/list'),
      createStatelessRequest('tools/call', {
        name: 'service_search',
        arguments: { query: 'issues' },
      }),
    ];
    stage.standIns.auth.getMe = async () => {
      throw new Error('no frame of this test asks who it is and means it');
    };
    const statuses = new Map<number, number>();
    for (let round = 0; round < frames; round += 50) {
      const batch = Array.from({ length: 50 }, (_, index) => {
        const seed = seeds[(round + index) % seeds.length];
        return seed === undefined
          ? []
          : [mutate(JSON.stringify(seed.body), round + index)].map((body) => ({ ...seed, body }));
      }).flat();
      const replies = await Promise.all(
        batch.map(async ({ body, headers }) => ({ body, ...(await send(body, headers)) })),
      );
      for (const { status, type, body } of replies) {
        expect(status, body.toString()).toBeLessThan(500);
        expect(type === null || type.startsWith('application/json'), body.toString()).toBe(true);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    }
    expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 400]));
  });

  async function send(body: Buffer, headers: Record<string, string>) {
    const reply = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...headers,
      },
      body: new Uint8Array(body),
    });
    const text = await reply.text();
    if (text !== '') JSON.parse(text);
    return { status: reply.status, type: reply.headers.get('content-type') };
  }
});
