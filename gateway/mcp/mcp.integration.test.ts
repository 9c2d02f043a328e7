import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { createStage } from '../neighbours.testing.ts';
import type { Stage } from '../neighbours.testing.ts';
import { createAgentPrincipal } from '../principals.testing.ts';
import type { RunningGateway } from '../start.ts';
import {
  createToolCall,
  connectClient,
  createInitializeRequest,
  postMcp,
  createStatelessRequest,
} from './clients.testing.ts';

let stage: Stage;
let gateway: RunningGateway;
let url: string;

beforeAll(async () => {
  stage = await createStage();
  gateway = await stage.gateway();
  url = gateway.url;
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

const auditId = randomUUID();
const summary = {
  service: 'github',
  template: 'github',
  action: 'list_issues',
  permissionKeys: ['github:list_issues:acme/site'],
  risk: 'read' as const,
  nonRead: false,
  description: 'List issues',
};
let lastRequests: unknown[];
beforeEach(() => {
  lastRequests = [];
  stage.standIns.policy.decide = async ({ call, options }) => {
    lastRequests.push({ call, options });
    return { outcome: 'permit', permit: 'signed-permit-of-this-call', auditId, ...summary };
  };
  stage.standIns.executor.execute = async () => ({
    kind: 'called',
    auditId,
    result: { status_code: 200, headers: { etag: 'x' }, body: [{ n: 1 }], duration_ms: 3 },
    replayed: false,
  });
});

const fiveTools = [
  'service_search',
  'service_read',
  'service_call',
  'service_auth',
  'service_approve',
];

describe('a client with the SDK 1.x', () => {
  test('initializes, lists the tools and calls a tool', async () => {
    await using connection = await connectClient(url, stage.tokenFor());
    const { client } = connection;

    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(fiveTools);
    const answer = await client.callTool({
      name: 'service_call',
      arguments: { service: 'github', action: 'list_issues', params: { repository: 'acme/site' } },
    });

    expect(answer.structuredContent).toEqual({
      status: 'called',
      result: { status_code: 200, body: [{ n: 1 }], duration_ms: 3 },
      action_description: 'List issues',
      audit_id: auditId,
    });
    expect(answer.isError).toBeUndefined();
    expect(lastRequests).toMatchObject([
      { call: { kind: 'action', params: { repository: 'acme/site' } } },
    ]);
  });
});

describe('a client of the stateless MCP version 2026-07-28', () => {
  test('discovers the server, lists the tools and calls a tool', async () => {
    const token = stage.tokenFor();

    const discoverAnswer = await postMcp(url, token, createStatelessRequest('server/discover'));
    expect(discoverAnswer.status).toBe(200);
    expect(discoverAnswer.body.result).toMatchObject({
      supportedVersions: ['2026-07-28'],
      resultType: 'complete',
    });
    const listAnswer = await postMcp(url, token, createStatelessRequest('tools/list'));
    expect(listAnswer.body.result).toMatchObject({ resultType: 'complete', cacheScope: 'private' });
    expect(listAnswer.body.result.tools).toHaveLength(5);
    const params = {
      name: 'service_call',
      arguments: { service: 'github', action: 'list_issues' },
    };
    const callAnswer = await postMcp(url, token, createStatelessRequest('tools/call', params));
    expect(callAnswer.body.result.structuredContent).toMatchObject({ status: 'called' });
  });
});

describe('a request without a session id', () => {
  test('is answered if it uses an MCP version of 2025', async () => {
    const { status, body } = await postMcp(url, stage.tokenFor(createAgentPrincipal()), {
      body: createToolCall('service_call', { service: 'github', action: 'list_issues' }),
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ id: 1, result: { structuredContent: { status: 'called' } } });
    expect((await postMcp(url, stage.tokenFor(), { body: createInitializeRequest() })).status).toBe(
      200,
    );
  });
});

describe('a page of another origin', () => {
  const origin = 'https://inspector.example';
  let openGateway: RunningGateway;
  beforeAll(async () => {
    openGateway = await stage.gateway({ MCP_ORIGINS: `${origin}, https://other.example` });
  });
  afterAll(() => openGateway[Symbol.asyncDispose]());

  const statusAndOrigin = (reply: Response) => [
    reply.status,
    reply.headers.get('access-control-allow-origin'),
  ];
  const sendFrom = (method: string, from: string, moreHeaders: Record<string, string> = {}) =>
    fetch(`${openGateway.url}/mcp`, {
      method,
      headers: { origin: from, 'content-type': 'application/json', ...moreHeaders },
      ...(method === 'POST' && {
        body: JSON.stringify(createToolCall('service_auth', { operation: 'whoami' })),
      }),
    });

  test('may use the endpoint with a bearer token if the operator has named its origin', async () => {
    const preflight = await sendFrom('OPTIONS', origin, {
      'access-control-request-method': 'POST',
    });
    expect(statusAndOrigin(preflight)).toEqual([204, origin]);
    expect(preflight.headers.get('access-control-allow-headers')).toContain('Authorization');

    const refusedReply = await sendFrom('POST', origin);
    expect(statusAndOrigin(refusedReply)).toEqual([401, origin]);
    expect(refusedReply.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate');

    const token = stage.tokenFor(createAgentPrincipal());
    const acceptedReply = await sendFrom('POST', origin, { authorization: `Bearer ${token}` });
    expect(statusAndOrigin(acceptedReply)).toEqual([200, origin]);
    expect(acceptedReply.headers.get('access-control-allow-credentials')).toBeNull();
  });

  test.for(['https://evil.example', 'https://inspector.example.evil.example', 'null'])(
    'is refused if the operator has not named its origin: %s',
    async (from) => {
      for (const method of ['OPTIONS', 'POST'])
        expect(statusAndOrigin(await sendFrom(method, from))).toEqual([403, null]);
    },
  );
});

describe('an MCP client', () => {
  let token: string;
  beforeAll(() => {
    token = stage.tokenFor(createAgentPrincipal());
  });

  test.for(['/mcp', '/mcp/'])('is served at %s', async (path) => {
    const reply = await fetch(`${url}${path}`, {
      method: 'POST',
      redirect: 'error',
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
      body: JSON.stringify(createToolCall('service_auth', { operation: 'whoami' })),
    });
    expect(reply.status).toBe(200);
  });

  test.for([
    ['application/json', 'application/json'],
    ['text/event-stream', 'text/event-stream'],
    ['*/*', 'application/json'],
  ] as const)('that accepts only %s is answered in %s', async ([accept, type]) => {
    for (const request of [
      { body: createInitializeRequest() },
      createStatelessRequest('tools/list', {}),
    ]) {
      const reply = await fetch(`${url}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          ...('headers' in request ? request.headers : {}),
          accept,
        },
        body: JSON.stringify(request.body),
      });
      const text = await reply.text();
      expect([reply.status, reply.headers.get('content-type')?.split(';')[0]]).toEqual([200, type]);
      const json = type === 'text/event-stream' ? /^data: (.*)$/m.exec(text)?.[1] : text;
      expect(JSON.parse(json ?? '')).toMatchObject({ jsonrpc: '2.0', result: expect.anything() });
    }
  });
});
