import { setTimeout as sleep } from 'node:timers/promises';

import { expect, test } from 'vitest';

import { answerWithEcho, startGateway } from '../gateway.testing.ts';
import type { GatewayBehaviour, McpCall } from '../gateway.testing.ts';
import { startProgram } from '../program.testing.ts';

const agentKey = 'aak_CANARYkey';
const initialize = {
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 't', version: '1' },
  },
};

async function startGatewayAndShim(behaviour: GatewayBehaviour = {}) {
  const stack = new AsyncDisposableStack();
  const gateway = stack.use(await startGateway(behaviour));
  const shim = stack.use(
    startProgram(['mcp'], { ACTION_GATEWAY_KEY: agentKey, ACTION_GATEWAY_URL: gateway.url }),
  );
  return { gateway, shim, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

function sendEvents(response: McpCall['response'], ...events: string[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) response.write(event);
}

function toReplyText(id: unknown, result: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result });
}

async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(10);
}

test('a message of the editor arrives at the gateway byte for byte, with the credential', async () => {
  await using world = await startGatewayAndShim();
  const line =
    '{ "id":"a",  "jsonrpc":"2.0","method":"x","params":{"big":12345678901234567890,"é":"\\u00e9"}}';
  world.shim.send(line);
  expect(await world.shim.nextFrame()).toMatchObject({ id: 'a' });
  expect(world.gateway.calls[0]?.body).toBe(line);
  expect(world.gateway.calls[0]?.headers).toMatchObject({
    authorization: `Bearer ${agentKey}`,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  });
  expect(await world.shim.closeAndWait()).toBe(0);
});

test('an answer of the gateway reaches the editor unchanged, on one line', async () => {
  await using world = await startGatewayAndShim({
    answerMcp: ({ response }) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        '{\r\n  "jsonrpc": "2.0",\n  "id": 1,\n  "result": {"n": 1.0, "t": "a\\nb"}\n}\n',
      );
    },
  });
  world.shim.send({ id: 1, method: 'x' });
  expect(await world.shim.nextLine()).toBe(
    '{   "jsonrpc": "2.0",   "id": 1,   "result": {"n": 1.0, "t": "a\\nb"} }',
  );
});

test('the session id and the MCP version that initialize negotiates are sent with every later request', async () => {
  await using world = await startGatewayAndShim({
    answerMcp: (call) => {
      const { id, method } = JSON.parse(call.body || '{}') as { id?: unknown; method?: string };
      if (method !== 'initialize') return answerWithEcho(call);
      call.response.setHeader('mcp-session-id', 'session-1');
      call.response.writeHead(200, { 'content-type': 'application/json' });
      call.response.end(toReplyText(id, { protocolVersion: '2025-06-18' }));
    },
  });
  world.shim.send(initialize);
  world.shim.send({ method: 'notifications/initialized' });
  world.shim.send({ id: 1, method: 'tools/list' });
  await world.shim.nextFrame();
  await world.shim.nextFrame();
  expect(await world.shim.closeAndWait()).toBe(0);
  const [first, ...others] = world.gateway.calls;
  expect(first?.headers['mcp-session-id']).toBeUndefined();
  expect(others.map(({ method }) => method).toSorted()).toEqual(['DELETE', 'GET', 'POST', 'POST']);
  for (const { headers } of others) {
    expect(headers).toMatchObject({
      'mcp-session-id': 'session-1',
      'mcp-protocol-version': '2025-06-18',
    });
  }
});

test('a message of MCP version 2026-07-28 has its method and tool name in headers, and no session id', async () => {
  await using world = await startGatewayAndShim();
  const params = {
    name: 'größe',
    _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' },
  };
  world.shim.send({ id: 1, method: 'tools/call', params });
  await world.shim.nextFrame();
  expect(world.gateway.calls[0]?.headers).toMatchObject({
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': `=?base64?${Buffer.from('größe').toString('base64')}?=`,
  });
});

test('the id of a session is no longer sent once the gateway has ended the session', async () => {
  await using world = await startGatewayAndShim({
    answerMcp: (call) => {
      if (call.body.includes('"initialize"')) {
        call.response.setHeader('mcp-session-id', 'gone');
        call.response.writeHead(200, { 'content-type': 'application/json' });
        call.response.end(toReplyText(0, { protocolVersion: '2025-11-25' }));
      } else if (call.headers['mcp-session-id'] === 'gone') {
        call.response.writeHead(404).end();
      } else answerWithEcho(call);
    },
  });
  world.shim.send(initialize);
  world.shim.send({ id: 1, method: 'x', params: { a: 1 } });
  await world.shim.nextFrame();
  expect(await world.shim.nextFrame()).toMatchObject({ id: 1, result: { echo: { a: 1 } } });
});

test('each message of a streamed answer is written at once, before the stream ends', async () => {
  let finishStream = () => {};
  await using world = await startGatewayAndShim({
    answerMcp: ({ response }) => {
      const progress = '{"jsonrpc":"2.0","method":"notifications/progress"}';
      sendEvents(
        response,
        ': hello\n\nid: 1\ndata:\n\n',
        `event: message\ndata: ${progress}\r\n\r\n`,
      );
      finishStream = () => response.end(`data: {"jsonrpc":"2.0",\ndata: "id":7,"result":{}}\n\n`);
    },
  });
  world.shim.send({ id: 7, method: 'x' });
  expect(await world.shim.nextFrame()).toMatchObject({ method: 'notifications/progress' });
  finishStream();
  expect(await world.shim.nextLine()).toBe('{"jsonrpc":"2.0", "id":7,"result":{}}');
});

test('a stream that breaks is resumed after its last event', async () => {
  await using world = await startGatewayAndShim({
    answerMcp: ({ method, headers, response }) => {
      if (method === 'POST') {
        sendEvents(response, 'id: e-1\nretry: 20\ndata:\n\n');
        setTimeout(() => response.destroy(), 20);
      } else if (headers['last-event-id'] === 'e-1') {
        sendEvents(response, `id: e-2\ndata: ${toReplyText(1, { late: true })}\n\n`);
      } else response.writeHead(405).end();
    },
  });
  world.shim.send({ id: 1, method: 'x' });
  expect(await world.shim.nextFrame()).toMatchObject({ id: 1, result: { late: true } });
});

test('a stream that breaks after its answer has no effect', async () => {
  await using world = await startGatewayAndShim({
    answerMcp: ({ response }) => {
      sendEvents(response, `data: ${toReplyText(1, {})}\n\n`);
      setTimeout(() => response.destroy(), 20);
    },
  });
  world.shim.send({ id: 1, method: 'x' });
  expect(await world.shim.nextFrame()).toMatchObject({ id: 1, result: {} });
  expect(await world.shim.closeAndWait()).toBe(0);
  expect(await world.shim.nextLine()).toBeUndefined();
});

test('messages that the gateway sends by itself arrive over a stream that the shim reopens', async () => {
  let openedCount = 0;
  await using world = await startGatewayAndShim({
    answerMcp: (call) => {
      if (call.method !== 'GET') return answerWithEcho(call);
      const changedNotification = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
      sendEvents(
        call.response,
        `id: ${++openedCount}\nretry: 20\ndata: ${changedNotification}\n\n`,
      );
      if (openedCount === 1) call.response.end();
    },
  });
  world.shim.send({ method: 'notifications/initialized' });
  expect(await world.shim.nextFrame()).toMatchObject({
    method: 'notifications/tools/list_changed',
  });
  expect(await world.shim.nextFrame()).toMatchObject({
    method: 'notifications/tools/list_changed',
  });
  const streams = world.gateway.calls.filter(({ method }) => method === 'GET');
  expect(streams[1]?.headers['last-event-id']).toBe('1');
  expect(await world.shim.closeAndWait()).toBe(0);
});

test('requests run concurrently, and their answers come in the order in which they finish', async () => {
  const heldCalls: McpCall[] = [];
  await using world = await startGatewayAndShim({
    answerMcp: (call) => {
      heldCalls.push(call);
      if (heldCalls.length === 100) for (const each of heldCalls.toReversed()) answerWithEcho(each);
    },
  });
  for (let id = 1; id <= 100; id++) world.shim.send({ id, method: 'x', params: { id } });
  const ids = new Set<unknown>();
  for (let count = 0; count < 100; count++) {
    const { id, result } = await world.shim.nextFrame();
    expect(result?.echo).toEqual({ id });
    ids.add(id);
  }
  expect(ids.size).toBe(100);
  expect(world.shim.stderr()).toBe('');
});

test('no later message overtakes initialize or a notification', async () => {
  const order: string[] = [];
  await using world = await startGatewayAndShim({
    answerMcp: async (call) => {
      if (call.method !== 'POST') return answerWithEcho(call);
      const { method } = JSON.parse(call.body) as { method: string };
      order.push(`${method} begins`);
      if (method !== 'x') await sleep(100);
      order.push(`${method} ends`);
      answerWithEcho(call);
    },
  });
  world.shim.send(initialize);
  world.shim.send({ method: 'notifications/initialized' });
  world.shim.send({ id: 1, method: 'x' });
  await world.shim.nextFrame();
  await world.shim.nextFrame();
  expect(order).toEqual(
    ['initialize', 'notifications/initialized', 'x'].flatMap((name) => [
      `${name} begins`,
      `${name} ends`,
    ]),
  );
});

test('a request that the editor cancels is cancelled at the gateway, and the editor gets no answer', async () => {
  let isConnectionClosed = false;
  await using world = await startGatewayAndShim({
    answerMcp: (call) => {
      if (!call.body.includes('"method":"slow"')) return answerWithEcho(call);
      call.response.once('close', () => (isConnectionClosed = true));
    },
  });
  world.shim.send({ id: 'slow', method: 'slow' });
  await waitUntil(() => world.gateway.calls.length === 1);
  world.shim.send({ method: 'notifications/cancelled', params: { requestId: 'slow' } });
  await waitUntil(() => isConnectionClosed);
  world.shim.send({ id: 2, method: 'x' });
  expect(await world.shim.nextFrame()).toMatchObject({ id: 2 });
  expect(world.gateway.calls.map(({ body }) => JSON.parse(body).method)).toEqual([
    'slow',
    'notifications/cancelled',
    'x',
  ]);
});

test('a request of MCP version 2026-07-28 is cancelled at the gateway only by closing its connection', async () => {
  let isConnectionClosed = false;
  await using world = await startGatewayAndShim({
    answerMcp: ({ response }) => void response.once('close', () => (isConnectionClosed = true)),
  });
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
  world.shim.send({ id: 1, method: 'x', params: { _meta } });
  await waitUntil(() => world.gateway.calls.length === 1);
  world.shim.send({ method: 'notifications/cancelled', params: { requestId: 1, _meta } });
  await waitUntil(() => isConnectionClosed);
  expect(await world.shim.closeAndWait()).toBe(0);
  expect(world.gateway.calls).toHaveLength(1);
});

test('a message of several megabytes is forwarded in both directions', async () => {
  await using world = await startGatewayAndShim();
  const big = 'ä'.repeat(4_000_000);
  world.shim.send({ id: 1, method: 'x', params: { big } });
  expect((await world.shim.nextFrame()).result?.echo).toEqual({ big });
});

test('a streamed answer of several megabytes is forwarded', async () => {
  const big = 'b'.repeat(10_000_000);
  await using world = await startGatewayAndShim({
    answerMcp: ({ response }) => {
      sendEvents(response, `data: ${toReplyText(1, { big })}\n\n`);
      response.end();
    },
  });
  world.shim.send({ id: 1, method: 'x' });
  expect((await world.shim.nextLine())?.length).toBeGreaterThan(big.length);
});

test('a message that is too long is refused, and the message after it is forwarded', async () => {
  await using world = await startGatewayAndShim();
  world.shim.send({ id: 1, method: 'x', params: { big: 'a'.repeat(17 * 1_048_576) } });
  expect(await world.shim.nextFrame()).toMatchObject({ id: null, error: { code: -32_600 } });
  world.shim.send({ id: 2, method: 'x' });
  expect(await world.shim.nextFrame()).toMatchObject({ id: 2, result: {} });
  expect(world.gateway.calls).toHaveLength(1);
});

test.each([
  ['a line that is no JSON', 'hello'],
  ['a JSON-RPC batch', '[{"jsonrpc":"2.0","id":1,"method":"x"}]'],
  ['a JSON object that is no JSON-RPC message', '{"id":1,"method":"x"}'],
])('%s is refused and not sent to the gateway', async (_, line) => {
  await using world = await startGatewayAndShim();
  world.shim.send(line);
  expect(await world.shim.nextFrame()).toMatchObject({ id: null, error: { code: -32_700 } });
  expect(world.gateway.calls).toHaveLength(0);
});

test.each([
  ['an HTML page', 'text/html', '<h1>Welcome</h1>'],
  ['plain text', 'text/plain', 'ok'],
  ['an answer with the id of another request', 'application/json', toReplyText(99, {})],
  ['an empty body', 'application/json', ''],
  ['a stream without an answer', 'text/event-stream', 'data: {"jsonrpc":"2.0","method":"n"}\n\n'],
  ['a stream of events that are no JSON-RPC', 'text/event-stream', 'data: hello\n\n'],
])(
  'when the gateway answers a request with %s, the editor gets a JSON-RPC error',
  async (_, type, body) => {
    await using world = await startGatewayAndShim({
      answerMcp: ({ response }) => void response.writeHead(200, { 'content-type': type }).end(body),
    });
    world.shim.send({ id: 5, method: 'x' });
    let message = await world.shim.nextFrame();
    if (message.method !== undefined) message = await world.shim.nextFrame();
    expect(message).toMatchObject({ id: 5, error: { code: -32_000 } });
  },
);

test.each([
  [503, { error: 'unavailable', message: 'Try again.' }, 'Try again.'],
  [429, { error: 'rate_limited', message: 'Too many requests.' }, 'Too many requests.'],
  [400, { jsonrpc: '2.0', id: null, error: { code: -32_600, message: 'No.' } }, 'No.'],
  [502, '<html>', 'The gateway answered with status 502.'],
  [302, '', 'The gateway answered with status 302.'],
  [200, '{"jsonrpc":"2.0","id":9,"result":{}}', 'The gateway sent something'],
])(
  'an answer with the status %i is reported to the editor and on stderr',
  async (status, body, message) => {
    await using world = await startGatewayAndShim({
      answerMcp: ({ response }) => {
        response.writeHead(status, { location: 'http://127.0.0.1:1/' });
        response.end(typeof body === 'string' ? body : JSON.stringify(body));
      },
    });
    world.shim.send({ id: 1, method: 'x' });
    const { id, error } = await world.shim.nextFrame();
    expect({ id, data: error?.data }).toMatchObject({ id: 1, data: { status } });
    expect(error?.message).toContain(message);
    expect(world.shim.stderr()).toContain(message);
  },
);

test('a JSON-RPC error that comes with an HTTP error status is passed on as the answer', async () => {
  const line = '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"m","data":[1]}}';
  await using world = await startGatewayAndShim({
    answerMcp: ({ response }) => void response.writeHead(400).end(line),
  });
  world.shim.send({ id: 1, method: 'x' });
  expect(await world.shim.nextLine()).toBe(line);
});

test('a refused agent key is reported, and each message is sent only once', async () => {
  await using world = await startGatewayAndShim({
    answerMcp: ({ response }) =>
      void response.writeHead(401, { 'www-authenticate': 'Bearer' }).end(),
  });
  for (const id of [1, 2]) {
    world.shim.send({ id, method: 'x' });
    const { error } = await world.shim.nextFrame();
    expect(error?.message).toContain('ACTION_GATEWAY_KEY');
  }
  expect(world.gateway.calls).toHaveLength(2);
  expect(world.shim.stderr()).not.toContain('CANARY');
});

test('requests fail while the gateway is unreachable, and succeed once the gateway is reachable again', async () => {
  await using world = await startGatewayAndShim();
  world.shim.send({ id: 1, method: 'x' });
  expect(await world.shim.nextFrame()).toMatchObject({ id: 1, result: {} });
  await world.gateway.stop();
  for (const id of [2, 3]) {
    world.shim.send({ id, method: 'x' });
    expect((await world.shim.nextFrame()).error?.message).toMatch(/did not answer/);
  }
  await world.gateway.restart();
  world.shim.send({ id: 4, method: 'x' });
  expect(await world.shim.nextFrame()).toMatchObject({ id: 4, result: {} });
});

test('an answer that breaks off becomes an error with the id of its request', async () => {
  await using world = await startGatewayAndShim({
    answerMcp: ({ response }) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 });
      response.write('{"jsonrpc":"2.0",');
      setTimeout(() => response.destroy(), 20);
    },
  });
  world.shim.send({ id: 'a', method: 'x' });
  expect(await world.shim.nextFrame()).toMatchObject({ id: 'a', error: { code: -32_000 } });
});

test('when the input ends, the shim answers the pending requests before it exits', async () => {
  await using world = await startGatewayAndShim({
    answerMcp: async (call) => {
      await sleep(200);
      answerWithEcho(call);
    },
  });
  world.shim.send({ id: 1, method: 'x' });
  const code = world.shim.closeAndWait();
  expect(await world.shim.nextFrame()).toMatchObject({ id: 1, result: {} });
  expect(await code).toBe(0);
});

test('the last message is sent even if no line end follows it', async () => {
  await using world = await startGatewayAndShim();
  world.shim.child.stdin?.write('{"jsonrpc":"2.0","id":1,"method":"x"}');
  void world.shim.closeAndWait();
  expect(await world.shim.nextFrame()).toMatchObject({ id: 1, result: {} });
});

test('a subscription does not keep the shim running after the end of the input', async () => {
  await using world = await startGatewayAndShim({
    answerMcp: ({ response }) =>
      sendEvents(response, 'data: {"jsonrpc":"2.0","method":"hello"}\n\n'),
  });
  world.shim.send({ id: 1, method: 'subscriptions/listen' });
  expect(await world.shim.nextFrame()).toMatchObject({ method: 'hello' });
  expect(await world.shim.closeAndWait()).toBe(0);
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  '%s ends the shim and its MCP session immediately',
  async (signal) => {
    await using world = await startGatewayAndShim({
      answerMcp: (call) => {
        if (call.body.includes('"never"')) return;
        call.response.setHeader('mcp-session-id', 's');
        if (!call.body.includes('"initialize"')) return answerWithEcho(call);
        call.response.writeHead(200, { 'content-type': 'application/json' });
        call.response.end(toReplyText(0, { protocolVersion: '2025-11-25' }));
      },
    });
    world.shim.send(initialize);
    await world.shim.nextFrame();
    world.shim.send({ id: 1, method: 'never' });
    await waitUntil(() => world.gateway.calls.length === 2);
    world.shim.child.kill(signal);
    expect(await world.shim.exitCode).toBe(0);
    expect(world.gateway.calls.at(-1)?.method).toBe('DELETE');
    expect(await world.shim.nextLine()).toBeUndefined();
  },
);

test('the shim ends when its output is closed', async () => {
  await using world = await startGatewayAndShim();
  world.shim.send({ id: 1, method: 'x' });
  await world.shim.nextFrame();
  world.shim.child.stdout?.destroy();
  world.shim.send({ id: 2, method: 'x' });
  world.shim.send({ id: 3, method: 'x' });
  expect(await world.shim.exitCode).toBe(0);
  expect(world.shim.stderr()).toBe('');
});

test('an editor that reads slowly gets every answer, and meanwhile the shim stops reading its input', async () => {
  const answer = 'c'.repeat(50_000);
  await using world = await startGatewayAndShim({
    answerMcp: ({ body, response }) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(toReplyText(JSON.parse(body).id, { answer }));
    },
  });
  world.shim.child.stdout?.pause();
  for (let id = 1; id <= 300; id++) world.shim.send({ id, method: 'x' });
  await sleep(300);
  expect(world.gateway.calls.length).toBeLessThan(300);
  world.shim.child.stdout?.resume();
  for (let count = 0; count < 300; count++)
    expect(await world.shim.nextFrame()).toHaveProperty('result');
  expect(world.shim.stderr()).toBe('');
});
