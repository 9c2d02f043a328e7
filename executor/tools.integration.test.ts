import type { ServerResponse } from 'node:http';

import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';

import type { ToolDefinition } from '#contracts/mcp';
import type { CompiledTemplate } from '#contracts/template';
import type { Permit } from '#contracts/permit';
import { digestOf } from '#signing';
import { sampleTools, startMcpServer } from '../test/support/mcp-server.ts';
import type { TestMcpServer } from '../test/support/mcp-server.ts';
import { actionOf, templateOf } from './domain/action.testing.ts';
import { canary, context, createWorld, options, soon } from './world.testing.ts';
import type { Answers, Hit, World } from './world.testing.ts';

let world: World;
let old: TestMcpServer;
let recent: TestMcpServer;

beforeAll(async () => {
  [world, old, recent] = await Promise.all([
    createWorld({ variables: { CAP_RESPONSE_STORED_BYTES: '600000' } }),
    startMcpServer('sessions', sampleTools()),
    startMcpServer('stateless', sampleTools()),
  ]);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await old[Symbol.asyncDispose]();
  await recent[Symbol.asyncDispose]();
});
beforeEach(() => world.upstream.reset());

const discover = (url: string) =>
  world.registry.discoverTools(
    { orgId: world.orgId, userId: world.userId, url, credential: null },
    soon(),
  );

const serviceId = uuidv7();
/** Versions never change, so each template of the tests is another. */
let toolsets = 0;

/** The template that the registry would give for a server of which one tool was accepted. */
function templateFor(protocolVersion: string, definition?: ToolDefinition): CompiledTemplate {
  toolsets += 1;
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

/** Calls the tool at a server, as the agent of the world and with its permit. */
async function callTool(
  host: string,
  { serviceId: of = serviceId, ...parts }: Partial<Permit> & { serviceId?: string } = {},
) {
  const call = world.actionCall('create_issue', { repository: 'acme/site', title: 'Zürich' });
  const jti = uuidv7();
  const baseUrl = `http://${host}`;
  const toolset = { serviceId: of, version: toolsets };
  const template = { key: 'acme', tier: 'global', ownerId: null, version: 1, toolset } as const;
  const named = { kind: 'action', service: 'acme', action: 'create_issue' } as const;
  const target = { ...named, serviceId: of, template, baseUrl, runtime: 'mcp' } as const;
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
  return world.gateway.execute({ permit, call, options: limits, context }, soon());
}

describe('discovery', () => {
  test.for(['sessions', 'stateless'] as const)('reads all pages of a server: %s', async (era) => {
    const server = era === 'sessions' ? old : recent;
    const expected = era === 'sessions' ? '2025-11-25' : '2026-07-28';
    const { protocolVersion, tools } = await discover(server.url);
    expect(protocolVersion).toBe(expected);
    expect(tools.map(({ name }) => name)).toEqual(['create_issue', 'list_issues', 'delete_repo']);
    server.plainJson = true;
    expect(await discover(server.url)).toEqual({ protocolVersion, tools });
  });

  test('carries the secret of the service, and only to where that may go', async () => {
    const value = canary();
    const body = { name: 'discovering', value, allowed_hosts: [world.upstream.host] };
    await world.gateway.createSecret({ principal: world.admin, body }, soon());
    world.upstream.answer((_hit, reply) => reply.writeHead(401).end());
    const credential = { kind: 'secret' as const, reference: 'discovering' };
    const { orgId, userId } = world;
    const ask = (url: string, user: string | null) =>
      world.registry.discoverTools({ orgId, userId: user, url, credential }, soon());

    await expect(ask(`${world.upstream.baseUrl}/mcp`, userId)).rejects.toMatchObject({
      code: 'upstream_incomplete',
      details: { status_code: 401 },
    });
    expect(world.upstream.hits[0]?.headers.authorization).toBe(`Bearer ${value}`);
    await expect(ask(old.url, userId)).rejects.toMatchObject({ code: 'host_not_allowed' });
    await expect(ask(old.url, null)).rejects.toMatchObject({ code: 'credential_missing' });
    await expect(ask(old.url, uuidv7())).rejects.toMatchObject({ code: 'credential_missing' });
  });

  test('hands on nothing of the credential that a server repeats', async () => {
    const value = canary();
    const body = { name: 'repeated', value, allowed_hosts: [world.upstream.host] };
    await world.gateway.createSecret({ principal: world.admin, body }, soon());
    const { orgId, userId } = world;
    const credential = { kind: 'secret' as const, reference: 'repeated' };
    const url = `${world.upstream.baseUrl}/mcp`;
    const ask = () => world.registry.discoverTools({ orgId, userId, url, credential }, soon());
    const inputSchema = { type: 'object', description: `for ${value}` };
    const tool = { name: 'say', description: `Uses Bearer ${value}`, inputSchema };
    world.upstream.answer((hit, reply) => asStateless(hit, reply, { tools: [tool] }));

    const { tools } = await ask();
    expect(tools).toMatchObject([{ name: 'say', description: 'Uses Bearer [REDACTED]' }]);
    expect(JSON.stringify(tools)).not.toContain(value);
    // Asked for are the codings that are read here.
    expect(world.upstream.hits[0]?.headers['accept-encoding']).toBe('gzip, deflate');

    world.upstream.answer((hit, reply) => {
      const { id } = JSON.parse(hit.body);
      json(reply, { jsonrpc: '2.0', id, error: { code: `Bearer ${value}`, message: value } });
    });
    const error: unknown = await ask().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'upstream_incomplete' });
    expect(JSON.stringify([error, String(error)])).not.toContain(value);
  });

  const json = (reply: ServerResponse, body: unknown) =>
    reply.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  const asStateless = (hit: Hit, reply: ServerResponse, result: unknown) => {
    const { id, method } = JSON.parse(hit.body);
    const isProbe = method === 'server/discover';
    const answer = isProbe ? { supportedVersions: ['2026-07-28'] } : result;
    json(reply, { jsonrpc: '2.0', id, result: answer });
  };
  test.for<[string, (reply: ServerResponse) => unknown]>([
    ['fails', (reply) => reply.writeHead(500).end('no session')],
    ['says nothing', () => undefined],
  ])('asks on where a server %s before it is initialized', async ([, answers]) => {
    world.upstream.answer((hit, reply) => {
      const { id, method } = JSON.parse(hit.body);
      if (method === 'server/discover') return answers(reply);
      if (id === undefined) return reply.writeHead(202).end();
      const result = { protocolVersion: '2025-06-18', tools: [{ name: 'one' }] };
      return json(reply, { jsonrpc: '2.0', id, result });
    });
    expect(await discover(`${world.upstream.baseUrl}/mcp`)).toMatchObject({
      protocolVersion: '2025-06-18',
      tools: [{ name: 'one' }],
    });
  });

  const many = Array.from({ length: 501 }, (_, at) => ({ name: `t${at}` }));

  test.for<[string, (hit: Hit, reply: ServerResponse) => void, string]>([
    [
      'more tools than anybody reads',
      (h, r) => asStateless(h, r, { tools: many }),
      'response_too_large',
    ],
    [
      'pages without end',
      (h, r) => asStateless(h, r, { tools: [], nextCursor: String(Math.random()) }),
      'response_too_large',
    ],
    ['no list', (h, r) => asStateless(h, r, { tools: 'none' }), 'upstream_incomplete'],
    ['no MCP', (_h, r) => r.end('hello'), 'upstream_incomplete'],
    [
      'a redirect inside',
      (_h, r) => r.writeHead(307, { location: 'http://169.254.169.254/' }).end(),
      'upstream_incomplete',
    ],
    [
      'an answer to another question',
      (_h, r) => json(r, { jsonrpc: '2.0', id: 'x', result: {} }),
      'upstream_incomplete',
    ],
    ['a closed connection', (_h, r) => r.destroy(), 'upstream_unreachable'],
  ])('refuses a server that gives %s', async ([, answers, code]) => {
    world.upstream.answer(answers);
    await expect(discover(`${world.upstream.baseUrl}/mcp`)).rejects.toMatchObject({ code });
  });

  test('reaches no address that calls may not reach', async () => {
    for (const url of ['http://10.0.0.1/mcp', 'https://169.254.169.254/mcp', 'https://[::1]/mcp']) {
      await expect(discover(url)).rejects.toMatchObject({ code: 'upstream_refused_address' });
    }
  });
});

describe('a call', () => {
  test('goes to a server without sessions as one request, with what it repeats in headers', async () => {
    world.template.current = templateFor('2026-07-28');
    recent.hits.length = 0;
    const done = await callTool(recent.host);
    expect(done).toMatchObject({ kind: 'called', result: { status_code: 200 } });
    expect(recent.hits).toHaveLength(1);
    expect(recent.hits[0]?.headers).toMatchObject({
      'mcp-method': 'tools/call',
      'mcp-name': 'create_issue',
      'mcp-param-title': `=?base64?${Buffer.from('Zürich').toString('base64')}?=`,
    });
  });

  test('opens a session once, keeps it to its identity, and never tells it', async () => {
    world.template.current = templateFor('2025-11-25');
    old.hits.length = 0;
    const done = await callTool(old.host);
    await callTool(old.host);
    const other = uuidv7();
    await callTool(old.host, { identityId: other });
    const sessions = old.calls().map(({ headers }) => String(headers['mcp-session-id']));
    expect(new Set(sessions.slice(0, 2)).size).toBe(1);
    expect(new Set(sessions).size).toBe(2);
    expect(old.hits.filter(({ message }) => message?.method === 'initialize')).toHaveLength(2);
    expect(JSON.stringify(done)).not.toContain(sessions[0]);
    const ids = old.calls().map(({ message }) => message.id);
    expect(new Set(ids).size).toBe(3);
  });

  test('that finds its session lost is not sent again; the next one opens another', async () => {
    world.template.current = templateFor('2025-11-25');
    await callTool(old.host);
    old.forgetSessions();
    const before = old.calls().length;
    const lost = await callTool(old.host);
    expect(lost).toMatchObject({ kind: 'called', result: { status_code: 404 } });
    expect(old.calls().length).toBe(before + 1);
    expect(await callTool(old.host)).toMatchObject({ result: { status_code: 200 } });
  });

  const stream = (reply: ServerResponse) =>
    reply.writeHead(200, { 'content-type': 'text/event-stream' });
  const never = { code: 'outcome_unknown' };

  test.for<[string, (hit: Hit, reply: ServerResponse) => void]>([
    ['resets the connection', (_hit, reply) => reply.destroy()],
    ['ends the stream without an answer', (_hit, reply) => stream(reply).end(': bye\n\n')],
    [
      'breaks off in the middle',
      (_h, r) => void stream(r).write('data: {"jsonrpc"', () => r.destroy()),
    ],
    ['says nothing any more', (_hit, reply) => void stream(reply).write(': hold on\n\n')],
    [
      'streams without end',
      (_hit, reply) => {
        stream(reply);
        const event = `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'x', params: 'y'.repeat(60_000) })}\n\n`;
        const pour = (): void => {
          while (!reply.destroyed && reply.write(event));
          if (!reply.destroyed) reply.once('drain', pour);
        };
        pour();
      },
    ],
    [
      'sends a byte at a time',
      (_hit, reply) => {
        stream(reply);
        const timer = setInterval(() => reply.write('d'), 100);
        reply.on('close', () => clearInterval(timer));
      },
    ],
  ])('to a server that %s leaves once, and its outcome is unknown', async ([, answers]) => {
    world.template.current = templateFor('2026-07-28');
    world.upstream.answer(answers);
    await expect(callTool(world.upstream.host)).rejects.toMatchObject(never);
    expect(world.upstream.hits).toHaveLength(1);
  });

  test('ends with its answer, whatever the server goes on to say', async () => {
    world.template.current = templateFor('2026-07-28');
    world.upstream.answer((hit, reply) => {
      const { id } = JSON.parse(hit.body);
      stream(reply);
      reply.write(`event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\n`);
      reply.write(`data: {"jsonrpc":"2.0","id":"other","result":{"content":[]}}\r\n\r\n`);
      reply.write(`data: {"jsonrpc":"2.0",\ndata: "id":"${id}","result":{"content":["mine"]}}\n\n`);
    });
    const done = await callTool(world.upstream.host);
    expect(done).toMatchObject({ result: { status_code: 200, body: { content: ['mine'] } } });
  });

  test('shows an error of the protocol, and an answer that is none', async () => {
    world.template.current = templateFor('2026-07-28');
    const error = { code: -32_602, message: 'Unknown tool' };
    world.upstream.answer((hit, reply) => {
      const { id } = JSON.parse(hit.body);
      reply.writeHead(400, { 'content-type': 'application/json' });
      reply.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
    });
    expect(await callTool(world.upstream.host)).toMatchObject({
      result: { status_code: 400, body: { error } },
    });
    world.upstream.answer((_hit, reply) => reply.writeHead(503).end('busy'));
    expect(await callTool(world.upstream.host)).toMatchObject({ result: { status_code: 503 } });
  });

  test('has ended although its bytes are more than may be kept', async () => {
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

  test('is answered again by its dispatch, and leaves an intent and an outcome', async () => {
    world.template.current = templateFor('2026-07-28');
    const dispatchId = uuidv7();
    const before = recent.calls().length;
    const [first, second] = [
      await callTool(recent.host, { dispatchId }),
      await callTool(recent.host, { dispatchId }),
    ];
    expect(second).toMatchObject({ kind: 'called', replayed: true });
    expect(first).toMatchObject({ kind: 'called', replayed: false });
    expect(recent.calls().length).toBe(before + 1);
    expect((await world.outbox('action.intent')).at(-1)?.audit).toMatchObject({
      action: 'create_issue',
    });
  });
});

describe('what calls notice of the tools of their server', () => {
  const json = (reply: ServerResponse, body: unknown, status = 200) =>
    reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const answerWith = (body: object) => (hit: Hit, reply: ServerResponse) =>
    json(reply, { jsonrpc: '2.0', id: JSON.parse(hit.body).id, ...body });
  const notice = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
  const saying = (text: string) => ({
    result: { isError: true, content: [{ type: 'text', text }] },
  });
  /** What the registry was told by a call of a service, which has made none before. */
  const toldBy = async (version: string, answers?: Answers) => {
    world.template.current = templateFor(version);
    if (answers) world.upstream.answer(answers);
    const of = uuidv7();
    const host = answers ? world.upstream.host : recent.host;
    const call = (service: string) => callTool(host, { serviceId: service }).catch(() => undefined);
    await call(of);
    await call(of);
    // What another call is told of later shows that nothing is under way any more.
    const last = uuidv7();
    await call(last);
    await vi.waitFor(() => expect(world.followed.map((each) => each.serviceId)).toContain(last));
    return world.followed.filter((each) => each.serviceId === of).map(({ isTold }) => isTold);
  };

  test('that they are used, once in a while', async () => {
    expect(await toldBy('2026-07-28')).toEqual([false]);
    expect(await toldBy('2026-07-28', answerWith(saying('No such repository')))).toEqual([false]);
  });

  test.for<[string, string, Answers]>([
    [
      'announces on the stream of an answer that its tools changed',
      '2026-07-28',
      (hit, reply) => {
        reply.writeHead(200, { 'content-type': 'text/event-stream' });
        for (let times = 0; times < 100; times += 1) {
          reply.write(`data: ${JSON.stringify(notice)}\n\n`);
        }
        const { id } = JSON.parse(hit.body);
        reply.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })}\n\n`);
      },
    ],
    ['has no such tool', '2026-07-28', answerWith({ error: { code: -32_602, message: 'x' } })],
    ['has no tools', '2026-07-28', answerWith({ error: { code: -32_601, message: 'x' } })],
    [
      'speaks another revision',
      '2026-07-28',
      answerWith({ error: { code: -32_022, message: 'x' } }),
    ],
    [
      'says so as the SDK does',
      '2026-07-28',
      answerWith(saying('MCP error -32602: Tool create_issue not found')),
    ],
    ['is no MCP server any more', '2026-07-28', (_hit, reply) => reply.writeHead(404).end()],
    [
      'opens no sessions any more',
      '2025-11-25',
      answerWith({ error: { code: -32_022, message: 'Unsupported protocol version' } }),
    ],
  ])('that a server %s', async ([, version, answers]) => {
    expect(await toldBy(version, answers)).toEqual([true, true]);
  });

  test.for<[string, Answers]>([
    ['refuses the credential', (_hit, reply) => reply.writeHead(401).end()],
    ['is busy', (_hit, reply) => reply.writeHead(503).end()],
    ['does not answer', (_hit, reply) => reply.destroy()],
  ])('nothing of it where a server %s', async ([, answers]) => {
    expect(await toldBy('2025-11-25', answers)).toEqual([false]);
  });
});

test('a call that nobody waits for any more is cancelled, in its session', async () => {
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
  const sent = () => world.upstream.hits.map(({ body }) => JSON.parse(body));
  await vi.waitFor(() => expect(sent().at(-1)?.method).toBe('notifications/cancelled'));
  const [call] = sent().filter(({ method }) => method === 'tools/call');
  expect(sent().at(-1).params).toMatchObject({ requestId: call.id });
  expect(world.upstream.hits.at(-1)?.headers['mcp-session-id']).toBe('one');
});
