import type { ServerResponse } from 'node:http';

import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { ToolDefinition } from '#contracts/mcp';
import type { CompiledTemplate } from '#contracts/template';
import type { Permit } from '#contracts/permit';
import { digestOf } from '#signing';
import { createSampleTools, startMcpServer } from '../../test/support/mcp-server.ts';
import type { TestMcpServer } from '../../test/support/mcp-server.ts';
import { actionOf, templateOf } from '../request/domain/action.testing.ts';
import { canary, context, createWorld, options, testDeadline } from '../world.testing.ts';
import type { Answers, Hit, World } from '../world.testing.ts';

let world: World;
let sessionServer: TestMcpServer;
let statelessServer: TestMcpServer;

beforeAll(async () => {
  [world, sessionServer, statelessServer] = await Promise.all([
    createWorld({ variables: { CAP_RESPONSE_STORED_BYTES: '600000' } }),
    startMcpServer('sessions', createSampleTools()),
    startMcpServer('stateless', createSampleTools()),
  ]);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await sessionServer[Symbol.asyncDispose]();
  await statelessServer[Symbol.asyncDispose]();
});
beforeEach(() => world.upstream.reset());

const discoverToolsAt = (url: string) =>
  world.registry.discoverTools(
    { orgId: world.orgId, userId: world.userId, url, credential: null },
    testDeadline(),
  );

const serviceId = uuidv7();
/**
 * Counts toolsets, so that each test gets its own template: a version of a template never changes.
 */
let toolsetCount = 0;

/** The template that the registry gives for an MCP server with one accepted tool. */
function templateFor(protocolVersion: string, definition?: ToolDefinition): CompiledTemplate {
  toolsetCount += 1;
  const action = actionOf({
    key: 'create_issue',
    method: 'POST',
    path: '/mcp',
    risk: 'write',
    params: [
      { name: 'repository', in: 'body' },
      { name: 'title', in: 'body' },
    ],
    body: { mediaType: 'application/json', wholeBody: false, required: true, parts: {} },
  });
  const pin = { hash: digestOf(definition ?? {}), headers: [{ path: ['title'], name: 'Title' }] };
  return {
    ...templateOf([action]),
    runtime: 'mcp',
    mcp: {
      path: '/mcp',
      autodiscover: true,
      overrides: {},
      protocolVersion,
      pins: { create_issue: pin },
    },
  };
}

/** Calls a server's tool as the agent of the test world, with a permit for it. */
async function callTool(
  host: string,
  { serviceId: of = serviceId, ...parts }: Partial<Permit> & { serviceId?: string } = {},
) {
  const call = world.actionCall('create_issue', { repository: 'acme/site', title: 'Zürich' });
  const jti = uuidv7();
  const baseUrl = `http://${host}`;
  const toolset = { serviceId: of, version: toolsetCount };
  const template = { key: 'acme', tier: 'global', ownerId: null, version: 1, toolset } as const;
  const namedCall = { kind: 'action', service: 'acme', action: 'create_issue' } as const;
  const target = { ...namedCall, serviceId: of, template, baseUrl, runtime: 'mcp' } as const;
  const permit = world.permitOf(call, {
    jti,
    dispatchId: jti,
    nonRead: true,
    risk: 'write',
    hosts: [host],
    target,
    ...parts,
  } as Partial<Permit>);
  const limits = { ...options, timeoutMs: 2_000 };
  return world.gateway.execute({ permit, call, options: limits, context }, testDeadline());
}

describe('discovering the tools of an MCP server', () => {
  test.for(['sessions', 'stateless'] as const)(
    'reads all pages of the tool list of a server of the kind “%s”',
    async (protocolKind) => {
      const server = protocolKind === 'sessions' ? sessionServer : statelessServer;
      const expected = protocolKind === 'sessions' ? '2025-11-25' : '2026-07-28';
      const { protocolVersion, tools } = await discoverToolsAt(server.url);
      expect(protocolVersion).toBe(expected);
      expect(tools.map(({ name }) => name)).toEqual(['create_issue', 'list_issues', 'delete_repo']);
      server.answersInPlainJson = true;
      expect(await discoverToolsAt(server.url)).toEqual({ protocolVersion, tools });
    },
  );

  test('sends the service’s secret, and only to hosts that the secret may go to', async () => {
    const value = canary();
    const body = { name: 'discovering', value, allowed_hosts: [world.upstream.host] };
    await world.gateway.createSecret({ principal: world.admin, body }, testDeadline());
    world.upstream.answer((_hit, reply) => reply.writeHead(401).end());
    const credential = { kind: 'secret' as const, reference: 'discovering' };
    const { orgId, userId } = world;
    const askForTools = (url: string, user: string | null) =>
      world.registry.discoverTools({ orgId, userId: user, url, credential }, testDeadline());

    await expect(askForTools(`${world.upstream.baseUrl}/mcp`, userId)).rejects.toMatchObject({
      code: 'upstream_incomplete',
      details: { status_code: 401 },
    });
    expect(world.upstream.hits[0]?.headers.authorization).toBe(`Bearer ${value}`);
    await expect(askForTools(sessionServer.url, userId)).rejects.toMatchObject({
      code: 'host_not_allowed',
    });
    await expect(askForTools(sessionServer.url, null)).rejects.toMatchObject({
      code: 'credential_missing',
    });
    await expect(askForTools(sessionServer.url, uuidv7())).rejects.toMatchObject({
      code: 'credential_missing',
    });
  });

  test('removes credentials that the server repeats in its answers', async () => {
    const value = canary();
    const body = { name: 'repeated', value, allowed_hosts: [world.upstream.host] };
    await world.gateway.createSecret({ principal: world.admin, body }, testDeadline());
    const { orgId, userId } = world;
    const credential = { kind: 'secret' as const, reference: 'repeated' };
    const url = `${world.upstream.baseUrl}/mcp`;
    const askForTools = () =>
      world.registry.discoverTools({ orgId, userId, url, credential }, testDeadline());
    const inputSchema = { type: 'object', description: `for ${value}` };
    const tool = { name: 'say', description: `Uses Bearer ${value}`, inputSchema };
    world.upstream.answer((hit, reply) => answerStateless(hit, reply, { tools: [tool] }));

    const { tools } = await askForTools();
    expect(tools).toMatchObject([{ name: 'say', description: 'Uses Bearer [REDACTED]' }]);
    expect(JSON.stringify(tools)).not.toContain(value);
    // The request names only the content codings that the executor can read.
    expect(world.upstream.hits[0]?.headers['accept-encoding']).toBe('gzip, deflate');

    world.upstream.answer((hit, reply) => {
      const { id } = JSON.parse(hit.body);
      sendJson(reply, { jsonrpc: '2.0', id, error: { code: `Bearer ${value}`, message: value } });
    });
    const error: unknown = await askForTools().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'upstream_incomplete' });
    expect(JSON.stringify([error, String(error)])).not.toContain(value);
  });

  const sendJson = (reply: ServerResponse, body: unknown) =>
    reply.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  const answerStateless = (hit: Hit, reply: ServerResponse, result: unknown) => {
    const { id, method } = JSON.parse(hit.body);
    const isProbe = method === 'server/discover';
    const answer = isProbe ? { supportedVersions: ['2026-07-28'] } : result;
    sendJson(reply, { jsonrpc: '2.0', id, result: answer });
  };
  test.for<[string, (reply: ServerResponse) => unknown]>([
    ['answers with status 500', (reply) => reply.writeHead(500).end('no session')],
    ['does not answer', () => undefined],
  ])('initializes a session when a server %s to server/discover', async ([, answers]) => {
    world.upstream.answer((hit, reply) => {
      const { id, method } = JSON.parse(hit.body);
      if (method === 'server/discover') return answers(reply);
      if (id === undefined) return reply.writeHead(202).end();
      const result = { protocolVersion: '2025-06-18', tools: [{ name: 'one' }] };
      return sendJson(reply, { jsonrpc: '2.0', id, result });
    });
    expect(await discoverToolsAt(`${world.upstream.baseUrl}/mcp`)).toMatchObject({
      protocolVersion: '2025-06-18',
      tools: [{ name: 'one' }],
    });
  });

  const tooManyTools = Array.from({ length: 501 }, (_, at) => ({ name: `t${at}` }));

  test.for<[string, (hit: Hit, reply: ServerResponse) => void, string]>([
    [
      'more than 500 tools',
      (h, r) => answerStateless(h, r, { tools: tooManyTools }),
      'response_too_large',
    ],
    [
      'pages without end',
      (h, r) => answerStateless(h, r, { tools: [], nextCursor: String(Math.random()) }),
      'response_too_large',
    ],
    [
      'tools that are no list',
      (h, r) => answerStateless(h, r, { tools: 'none' }),
      'upstream_incomplete',
    ],
    ['an answer that is no MCP', (_h, r) => r.end('hello'), 'upstream_incomplete'],
    [
      'a redirect to an internal address',
      (_h, r) => r.writeHead(307, { location: 'http://169.254.169.254/' }).end(),
      'upstream_incomplete',
    ],
    [
      'an answer with the id of another request',
      (_h, r) => sendJson(r, { jsonrpc: '2.0', id: 'x', result: {} }),
      'upstream_incomplete',
    ],
    ['a closed connection', (_h, r) => r.destroy(), 'upstream_unreachable'],
  ])('refuses a server that gives %s', async ([, answers, code]) => {
    world.upstream.answer(answers);
    await expect(discoverToolsAt(`${world.upstream.baseUrl}/mcp`)).rejects.toMatchObject({ code });
  });

  test('sends nothing to an address that calls may not use', async () => {
    for (const url of ['http://10.0.0.1/mcp', 'https://169.254.169.254/mcp', 'https://[::1]/mcp']) {
      await expect(discoverToolsAt(url)).rejects.toMatchObject({
        code: 'upstream_refused_address',
      });
    }
  });
});

describe('a call to a tool of an MCP server', () => {
  test('is one request, with some arguments repeated in headers, when the server has no sessions', async () => {
    world.template.current = templateFor('2026-07-28');
    statelessServer.hits.length = 0;
    const done = await callTool(statelessServer.host);
    expect(done).toMatchObject({ kind: 'called', result: { status_code: 200 } });
    expect(statelessServer.hits).toHaveLength(1);
    expect(statelessServer.hits[0]?.headers).toMatchObject({
      'mcp-method': 'tools/call',
      'mcp-name': 'create_issue',
      'mcp-param-title': `=?base64?${Buffer.from('Zürich').toString('base64')}?=`,
    });
  });

  test('opens a session once, which is used only for this identity and which the caller never sees', async () => {
    world.template.current = templateFor('2025-11-25');
    sessionServer.hits.length = 0;
    const done = await callTool(sessionServer.host);
    await callTool(sessionServer.host);
    const other = uuidv7();
    await callTool(sessionServer.host, { identityId: other });
    const sessions = sessionServer.calls().map(({ headers }) => String(headers['mcp-session-id']));
    expect(new Set(sessions.slice(0, 2)).size).toBe(1);
    expect(new Set(sessions).size).toBe(2);
    expect(
      sessionServer.hits.filter(({ message }) => message?.method === 'initialize'),
    ).toHaveLength(2);
    expect(JSON.stringify(done)).not.toContain(sessions[0]);
    const ids = sessionServer.calls().map(({ message }) => message.id);
    expect(new Set(ids).size).toBe(3);
  });

  test('is not sent again when its session is lost, and the next call opens another session', async () => {
    world.template.current = templateFor('2025-11-25');
    await callTool(sessionServer.host);
    sessionServer.forgetSessions();
    const callCountBefore = sessionServer.calls().length;
    const lostAnswer = await callTool(sessionServer.host);
    expect(lostAnswer).toMatchObject({ kind: 'called', result: { status_code: 404 } });
    expect(sessionServer.calls().length).toBe(callCountBefore + 1);
    expect(await callTool(sessionServer.host)).toMatchObject({ result: { status_code: 200 } });
  });

  const startStream = (reply: ServerResponse) =>
    reply.writeHead(200, { 'content-type': 'text/event-stream' });
  const outcomeUnknown = { code: 'outcome_unknown' };

  test.for<[string, (hit: Hit, reply: ServerResponse) => void]>([
    ['resets the connection', (_hit, reply) => reply.destroy()],
    ['ends the stream without an answer', (_hit, reply) => startStream(reply).end(': bye\n\n')],
    [
      'breaks off in the middle of an event',
      (_h, r) => void startStream(r).write('data: {"jsonrpc"', () => r.destroy()),
    ],
    [
      'opens a stream and sends no event',
      (_hit, reply) => void startStream(reply).write(': hold on\n\n'),
    ],
    [
      'streams without end',
      (_hit, reply) => {
        startStream(reply);
        const event = `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'x', params: 'y'.repeat(60_000) })}\n\n`;
        const writeUntilFull = (): void => {
          while (!reply.destroyed && reply.write(event));
          if (!reply.destroyed) reply.once('drain', writeUntilFull);
        };
        writeUntilFull();
      },
    ],
    [
      'sends a byte at a time',
      (_hit, reply) => {
        startStream(reply);
        const timer = setInterval(() => reply.write('d'), 100);
        reply.on('close', () => clearInterval(timer));
      },
    ],
  ])('is sent once and has an unknown outcome if the server %s', async ([, answers]) => {
    world.template.current = templateFor('2026-07-28');
    world.upstream.answer(answers);
    await expect(callTool(world.upstream.host)).rejects.toMatchObject(outcomeUnknown);
    expect(world.upstream.hits).toHaveLength(1);
  });

  test('ends when the answer has arrived, even if the server keeps the stream open', async () => {
    world.template.current = templateFor('2026-07-28');
    world.upstream.answer((hit, reply) => {
      const { id } = JSON.parse(hit.body);
      startStream(reply);
      reply.write(`event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\n`);
      reply.write(`data: {"jsonrpc":"2.0","id":"other","result":{"content":[]}}\r\n\r\n`);
      reply.write(`data: {"jsonrpc":"2.0",\ndata: "id":"${id}","result":{"content":["mine"]}}\n\n`);
    });
    const done = await callTool(world.upstream.host);
    expect(done).toMatchObject({ result: { status_code: 200, body: { content: ['mine'] } } });
  });

  test('returns a protocol error, a failure of the tool and an answer that is not JSON-RPC as failures', async () => {
    world.template.current = templateFor('2026-07-28');
    const error = { code: -32_602, message: 'Unknown tool' };
    world.upstream.answer((hit, reply) => {
      const { id } = JSON.parse(hit.body);
      reply.writeHead(400, { 'content-type': 'application/json' });
      reply.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
    });
    const refused = { kind: 'invalid', message: 'Unknown tool' };
    expect(await callTool(world.upstream.host)).toMatchObject({
      result: { status_code: 400, body: { error }, failure: refused },
    });
    world.upstream.answer((hit, reply) => {
      const { id } = JSON.parse(hit.body);
      reply.writeHead(200, { 'content-type': 'application/json' });
      const content = [{ type: 'text', text: 'No such issue' }];
      reply.end(JSON.stringify({ jsonrpc: '2.0', id, result: { content, isError: true } }));
    });
    expect(await callTool(world.upstream.host)).toMatchObject({
      result: { status_code: 200, failure: { kind: 'failed', message: 'No such issue' } },
    });
    world.upstream.answer((_hit, reply) => reply.writeHead(503).end('busy'));
    expect(await callTool(world.upstream.host)).toMatchObject({
      result: { status_code: 503, failure: { kind: 'unavailable', message: 'busy' } },
    });
  });

  test('has the outcome `called` even if the file in its answer is too large to keep', async () => {
    world.template.current = templateFor('2026-07-28');
    const image = { type: 'image', mimeType: 'image/png' };
    world.upstream.answer((hit, reply) => {
      const { id } = JSON.parse(hit.body);
      const data = Buffer.alloc(600_001).toString('base64');
      const result = {
        content: [
          { ...image, data },
          { ...image, data: 'AAEC' },
        ],
      };
      reply.setHeader('content-type', 'application/json');
      reply.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
    const done = await callTool(world.upstream.host);
    expect(done).toMatchObject({
      result: {
        body: {
          content: [
            { ...image, omitted: { reason: 'too_large', size: 600_001 } },
            { ...image, omitted: { reason: 'file', size: 3 } },
          ],
        },
        files: [{ at: '/content/1', size: 3 }],
      },
    });
  });

  test('returns the stored outcome to a second attempt, and records its intent and outcome once', async () => {
    world.template.current = templateFor('2026-07-28');
    const dispatchId = uuidv7();
    const callCountBefore = statelessServer.calls().length;
    const [first, second] = [
      await callTool(statelessServer.host, { dispatchId }),
      await callTool(statelessServer.host, { dispatchId }),
    ];
    expect(second).toMatchObject({ kind: 'called', replayed: true });
    expect(first).toMatchObject({ kind: 'called', replayed: false });
    expect(statelessServer.calls().length).toBe(callCountBefore + 1);
    expect((await world.outbox('action.intent')).at(-1)?.audit).toMatchObject({
      action: 'create_issue',
    });
  });
});

describe('a call to an MCP server', () => {
  const sendJson = (reply: ServerResponse, body: unknown, status = 200) =>
    reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const createAnswers = (body: object) => (hit: Hit, reply: ServerResponse) =>
    sendJson(reply, { jsonrpc: '2.0', id: JSON.parse(hit.body).id, ...body });
  const toolsChangedMessage = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
  const textResult = (text: string) => ({
    result: { isError: true, content: [{ type: 'text', text }] },
  });
  /**
   * Makes one call to a service without earlier calls. Returns what the executor reported to the
   * registry.
   */
  const listReports = async (version: string, answers?: Answers) => {
    world.template.current = templateFor(version);
    if (answers) world.upstream.answer(answers);
    const of = uuidv7();
    const host = answers ? world.upstream.host : statelessServer.host;
    const call = (service: string) => callTool(host, { serviceId: service }).catch(() => undefined);
    await call(of);
    await call(of);
    // Reports arrive in order. So when the report of a second call has arrived, all reports of the
    // first call have arrived too.
    const last = uuidv7();
    await call(last);
    await expect.poll(() => world.toolReports.map((each) => each.serviceId)).toContain(last);
    return world.toolReports.filter((each) => each.serviceId === of).map(({ isTold }) => isTold);
  };

  test('reports to the registry that the tools are in use, at most once in a while', async () => {
    expect(await listReports('2026-07-28')).toEqual([false]);
    expect(
      await listReports('2026-07-28', createAnswers(textResult('No such repository'))),
    ).toEqual([false]);
  });

  test.for<[string, string, Answers]>([
    [
      'announces a change of its tools on the stream of an answer',
      '2026-07-28',
      (hit, reply) => {
        reply.writeHead(200, { 'content-type': 'text/event-stream' });
        for (let times = 0; times < 100; times += 1) {
          reply.write(`data: ${JSON.stringify(toolsChangedMessage)}\n\n`);
        }
        const { id } = JSON.parse(hit.body);
        reply.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })}\n\n`);
      },
    ],
    [
      'has no tool with the called name',
      '2026-07-28',
      createAnswers({ error: { code: -32_602, message: 'x' } }),
    ],
    ['has no tools', '2026-07-28', createAnswers({ error: { code: -32_601, message: 'x' } })],
    [
      'speaks another MCP version',
      '2026-07-28',
      createAnswers({ error: { code: -32_022, message: 'x' } }),
    ],
    [
      'reports an unknown tool as a result, as the MCP SDK does',
      '2026-07-28',
      createAnswers(textResult('MCP error -32602: Tool create_issue not found')),
    ],
    ['is no MCP server any more', '2026-07-28', (_hit, reply) => reply.writeHead(404).end()],
    [
      'opens no sessions any more',
      '2025-11-25',
      createAnswers({ error: { code: -32_022, message: 'Unsupported protocol version' } }),
    ],
  ])('reports to the registry that the server %s', async ([, version, answers]) => {
    expect(await listReports(version, answers)).toEqual([true, true]);
  });

  test.for<[string, Answers]>([
    ['refuses the credential', (_hit, reply) => reply.writeHead(401).end()],
    ['is busy', (_hit, reply) => reply.writeHead(503).end()],
    ['does not answer', (_hit, reply) => reply.destroy()],
  ])('reports nothing to the registry when the server %s', async ([, answers]) => {
    expect(await listReports('2025-11-25', answers)).toEqual([false]);
  });
});

test('a call whose client has disconnected is cancelled in its MCP session', async () => {
  world.template.current = templateFor('2025-11-25');
  world.upstream.answer((hit, reply) => {
    const { id, method } = JSON.parse(hit.body);
    if (method === 'tools/call') return;
    reply.setHeader('mcp-session-id', 'one');
    if (id === undefined) return reply.writeHead(202).end();
    const result = { protocolVersion: '2025-11-25' };
    return reply
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
  await expect(callTool(world.upstream.host)).rejects.toMatchObject({ code: 'outcome_unknown' });
  const sentMessages = () => world.upstream.hits.map(({ body }) => JSON.parse(body));
  await expect.poll(() => sentMessages().at(-1)?.method).toBe('notifications/cancelled');
  const [call] = sentMessages().filter(({ method }) => method === 'tools/call');
  expect(sentMessages().at(-1).params).toMatchObject({ requestId: call.id });
  expect(world.upstream.hits.at(-1)?.headers['mcp-session-id']).toBe('one');
});
