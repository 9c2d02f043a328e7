import { setTimeout as sleep } from 'node:timers/promises';

import { expect, test } from 'vitest';

import { answerWithEcho, startGateway } from '../gateway.testing.ts';
import type { GatewayBehaviour, McpCall } from '../gateway.testing.ts';
import { startProgram } from '../program.testing.ts';

const key = 'aak_CANARYkey';
const initialize = {
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 't', version: '1' },
  },
};

async function startBoth(behaviour: GatewayBehaviour = {}) {
  const stack = new AsyncDisposableStack();
  const gateway = stack.use(await startGateway(behaviour));
  const shim = stack.use(
    startProgram(['mcp'], { ACTION_GATEWAY_KEY: key, ACTION_GATEWAY_URL: gateway.url }),
  );
  return { gateway, shim, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

function sendEvents(response: McpCall['response'], ...events: string[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) response.write(event);
}

function reply(id: unknown, result: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result });
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(10);
}

test('a frame arrives byte for byte, with the credential', async () => {
  await using world = await startBoth();
  const line =
    '{ "id":"a",  "jsonrpc":"2.0","method":"x","params":{"big":12345678901234567890,"é":"\\u00e9"}}';
  world.shim.send(line);
  expect(await world.shim.next()).toMatchObject({ id: 'a' });
  expect(world.gateway.calls[0]?.body).toBe(line);
  expect(world.gateway.calls[0]?.headers).toMatchObject({
    authorization: `Bearer ${key}`,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  });
  expect(await world.shim.end()).toBe(0);
});

test('an answer comes back as it is, in one line', async () => {
  await using world = await startBoth({
    mcp: ({ response }) => {
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

test('the session and the revision that initialize settles go with everything after it', async () => {
  await using world = await startBoth({
    mcp: (call) => {
      const { id, method } = JSON.parse(call.body || '{}') as { id?: unknown; method?: string };
      if (method !== 'initialize') return answerWithEcho(call);
      call.response.setHeader('mcp-session-id', 'session-1');
      call.response.writeHead(200, { 'content-type': 'application/json' });
      call.response.end(reply(id, { protocolVersion: '2025-06-18' }));
    },
  });
  world.shim.send(initialize);
  world.shim.send({ method: 'notifications/initialized' });
  world.shim.send({ id: 1, method: 'tools/list' });
  await world.shim.next();
  await world.shim.next();
  expect(await world.shim.end()).toBe(0);
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

test('a frame of revision 2026-07-28 is repeated in headers and has no session', async () => {
  await using world = await startBoth();
  const params = {
    name: 'größe',
    _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' },
  };
  world.shim.send({ id: 1, method: 'tools/call', params });
  await world.shim.next();
  expect(world.gateway.calls[0]?.headers).toMatchObject({
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': `=?base64?${Buffer.from('größe').toString('base64')}?=`,
  });
});

test('a session that the gateway has forgotten is left out from then on', async () => {
  await using world = await startBoth({
    mcp: (call) => {
      if (call.body.includes('"initialize"')) {
        call.response.setHeader('mcp-session-id', 'gone');
        call.response.writeHead(200, { 'content-type': 'application/json' });
        call.response.end(reply(0, { protocolVersion: '2025-11-25' }));
      } else if (call.headers['mcp-session-id'] === 'gone') {
        call.response.writeHead(404).end();
      } else answerWithEcho(call);
    },
  });
  world.shim.send(initialize);
  world.shim.send({ id: 1, method: 'x', params: { a: 1 } });
  await world.shim.next();
  expect(await world.shim.next()).toMatchObject({ id: 1, result: { echo: { a: 1 } } });
});

test('messages of a streamed answer come one by one, before its end', async () => {
  let finish = () => {};
  await using world = await startBoth({
    mcp: ({ response }) => {
      const progress = '{"jsonrpc":"2.0","method":"notifications/progress"}';
      sendEvents(
        response,
        ': hello\n\nid: 1\ndata:\n\n',
        `event: message\ndata: ${progress}\r\n\r\n`,
      );
      finish = () => response.end(`data: {"jsonrpc":"2.0",\ndata: "id":7,"result":{}}\n\n`);
    },
  });
  world.shim.send({ id: 7, method: 'x' });
  expect(await world.shim.next()).toMatchObject({ method: 'notifications/progress' });
  finish();
  expect(await world.shim.nextLine()).toBe('{"jsonrpc":"2.0", "id":7,"result":{}}');
});

test('a stream that breaks is taken up again where it was', async () => {
  await using world = await startBoth({
    mcp: ({ method, headers, response }) => {
      if (method === 'POST') {
        sendEvents(response, 'id: e-1\nretry: 20\ndata:\n\n');
        setTimeout(() => response.destroy(), 20);
      } else if (headers['last-event-id'] === 'e-1') {
        sendEvents(response, `id: e-2\ndata: ${reply(1, { late: true })}\n\n`);
      } else response.writeHead(405).end();
    },
  });
  world.shim.send({ id: 1, method: 'x' });
  expect(await world.shim.next()).toMatchObject({ id: 1, result: { late: true } });
});

test('a stream that breaks after the answer has been given changes nothing about it', async () => {
  await using world = await startBoth({
    mcp: ({ response }) => {
      sendEvents(response, `data: ${reply(1, {})}\n\n`);
      setTimeout(() => response.destroy(), 20);
    },
  });
  world.shim.send({ id: 1, method: 'x' });
  expect(await world.shim.next()).toMatchObject({ id: 1, result: {} });
  expect(await world.shim.end()).toBe(0);
  expect(await world.shim.nextLine()).toBeUndefined();
});

test('what the gateway says by itself arrives, over a stream that is opened again', async () => {
  let opened = 0;
  await using world = await startBoth({
    mcp: (call) => {
      if (call.method !== 'GET') return answerWithEcho(call);
      const changed = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
      sendEvents(call.response, `id: ${++opened}\nretry: 20\ndata: ${changed}\n\n`);
      if (opened === 1) call.response.end();
    },
  });
  world.shim.send({ method: 'notifications/initialized' });
  expect(await world.shim.next()).toMatchObject({ method: 'notifications/tools/list_changed' });
  expect(await world.shim.next()).toMatchObject({ method: 'notifications/tools/list_changed' });
  const streams = world.gateway.calls.filter(({ method }) => method === 'GET');
  expect(streams[1]?.headers['last-event-id']).toBe('1');
  expect(await world.shim.end()).toBe(0);
});

test('requests go side by side, and answers come in their own order', async () => {
  const held: McpCall[] = [];
  await using world = await startBoth({
    mcp: (call) => {
      held.push(call);
      if (held.length === 100) for (const each of held.toReversed()) answerWithEcho(each);
    },
  });
  for (let id = 1; id <= 100; id++) world.shim.send({ id, method: 'x', params: { id } });
  const ids = new Set<unknown>();
  for (let count = 0; count < 100; count++) {
    const { id, result } = await world.shim.next();
    expect(result?.echo).toEqual({ id });
    ids.add(id);
  }
  expect(ids.size).toBe(100);
  expect(world.shim.stderr()).toBe('');
});

test('nothing overtakes initialize or a notification', async () => {
  const order: string[] = [];
  await using world = await startBoth({
    mcp: async (call) => {
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
  await world.shim.next();
  await world.shim.next();
  expect(order).toEqual(
    ['initialize', 'notifications/initialized', 'x'].flatMap((name) => [
      `${name} begins`,
      `${name} ends`,
    ]),
  );
});

test('a cancelled request ends at the gateway, and is not answered', async () => {
  let closed = false;
  await using world = await startBoth({
    mcp: (call) => {
      if (!call.body.includes('"method":"slow"')) return answerWithEcho(call);
      call.response.once('close', () => (closed = true));
    },
  });
  world.shim.send({ id: 'slow', method: 'slow' });
  await until(() => world.gateway.calls.length === 1);
  world.shim.send({ method: 'notifications/cancelled', params: { requestId: 'slow' } });
  await until(() => closed);
  world.shim.send({ id: 2, method: 'x' });
  expect(await world.shim.next()).toMatchObject({ id: 2 });
  expect(world.gateway.calls.map(({ body }) => JSON.parse(body).method)).toEqual([
    'slow',
    'notifications/cancelled',
    'x',
  ]);
});

test('a cancelled request of revision 2026-07-28 ends by closing its connection alone', async () => {
  let closed = false;
  await using world = await startBoth({
    mcp: ({ response }) => void response.once('close', () => (closed = true)),
  });
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
  world.shim.send({ id: 1, method: 'x', params: { _meta } });
  await until(() => world.gateway.calls.length === 1);
  world.shim.send({ method: 'notifications/cancelled', params: { requestId: 1, _meta } });
  await until(() => closed);
  expect(await world.shim.end()).toBe(0);
  expect(world.gateway.calls).toHaveLength(1);
});

test('a frame of megabytes passes in both directions', async () => {
  await using world = await startBoth();
  const big = 'ä'.repeat(4_000_000);
  world.shim.send({ id: 1, method: 'x', params: { big } });
  expect((await world.shim.next()).result?.echo).toEqual({ big });
});

test('a streamed answer of megabytes passes', async () => {
  const big = 'b'.repeat(10_000_000);
  await using world = await startBoth({
    mcp: ({ response }) => {
      sendEvents(response, `data: ${reply(1, { big })}\n\n`);
      response.end();
    },
  });
  world.shim.send({ id: 1, method: 'x' });
  expect((await world.shim.nextLine())?.length).toBeGreaterThan(big.length);
});

test('a frame that is too long is refused, and the next one passes', async () => {
  await using world = await startBoth();
  world.shim.send({ id: 1, method: 'x', params: { big: 'a'.repeat(17 * 1_048_576) } });
  expect(await world.shim.next()).toMatchObject({ id: null, error: { code: -32_600 } });
  world.shim.send({ id: 2, method: 'x' });
  expect(await world.shim.next()).toMatchObject({ id: 2, result: {} });
  expect(world.gateway.calls).toHaveLength(1);
});

test.each([
  ['what is no JSON', 'hello'],
  ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"x"}]'],
  ['another protocol', '{"id":1,"method":"x"}'],
])('%s is not sent', async (_, line) => {
  await using world = await startBoth();
  world.shim.send(line);
  expect(await world.shim.next()).toMatchObject({ id: null, error: { code: -32_700 } });
  expect(world.gateway.calls).toHaveLength(0);
});

test.each([
  ['a page', 'text/html', '<h1>Welcome</h1>'],
  ['plain text', 'text/plain', 'ok'],
  ['an answer to somebody else', 'application/json', reply(99, {})],
  ['nothing', 'application/json', ''],
  ['a stream without an answer', 'text/event-stream', 'data: {"jsonrpc":"2.0","method":"n"}\n\n'],
  ['a stream of something else', 'text/event-stream', 'data: hello\n\n'],
])('for %s the request gets an error, and the editor no garbage', async (_, type, body) => {
  await using world = await startBoth({
    mcp: ({ response }) => void response.writeHead(200, { 'content-type': type }).end(body),
  });
  world.shim.send({ id: 5, method: 'x' });
  let message = await world.shim.next();
  if (message.method !== undefined) message = await world.shim.next();
  expect(message).toMatchObject({ id: 5, error: { code: -32_000 } });
});

test.each([
  [503, { error: 'unavailable', message: 'Try again.' }, 'Try again.'],
  [429, { error: 'rate_limited', message: 'Too many requests.' }, 'Too many requests.'],
  [400, { jsonrpc: '2.0', id: null, error: { code: -32_600, message: 'No.' } }, 'No.'],
  [502, '<html>', 'The gateway answered with status 502.'],
  [302, '', 'The gateway answered with status 302.'],
  [200, '{"jsonrpc":"2.0","id":9,"result":{}}', 'The gateway sent something'],
])('status %i is told to the editor and to the person', async (status, body, message) => {
  await using world = await startBoth({
    mcp: ({ response }) => {
      response.writeHead(status, { location: 'http://127.0.0.1:1/' });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    },
  });
  world.shim.send({ id: 1, method: 'x' });
  const { id, error } = await world.shim.next();
  expect({ id, data: error?.data }).toMatchObject({ id: 1, data: { status } });
  expect(error?.message).toContain(message);
  expect(world.shim.stderr()).toContain(message);
});

test('a JSON-RPC error with a status of refusal is the answer itself', async () => {
  const line = '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"m","data":[1]}}';
  await using world = await startBoth({
    mcp: ({ response }) => void response.writeHead(400).end(line),
  });
  world.shim.send({ id: 1, method: 'x' });
  expect(await world.shim.nextLine()).toBe(line);
});

test('an agent key that is refused is said so once, and asked about no more than once a frame', async () => {
  await using world = await startBoth({
    mcp: ({ response }) => void response.writeHead(401, { 'www-authenticate': 'Bearer' }).end(),
  });
  for (const id of [1, 2]) {
    world.shim.send({ id, method: 'x' });
    const { error } = await world.shim.next();
    expect(error?.message).toContain('ACTION_GATEWAY_KEY');
  }
  expect(world.gateway.calls).toHaveLength(2);
  expect(world.shim.stderr()).not.toContain('CANARY');
});

test('requests fail while the gateway is away, and pass when it is back', async () => {
  await using world = await startBoth();
  world.shim.send({ id: 1, method: 'x' });
  expect(await world.shim.next()).toMatchObject({ id: 1, result: {} });
  await world.gateway.stop();
  for (const id of [2, 3]) {
    world.shim.send({ id, method: 'x' });
    expect((await world.shim.next()).error?.message).toMatch(/did not answer/);
  }
  await world.gateway.restart();
  world.shim.send({ id: 4, method: 'x' });
  expect(await world.shim.next()).toMatchObject({ id: 4, result: {} });
});

test('an answer that breaks off is an error with the id of its request', async () => {
  await using world = await startBoth({
    mcp: ({ response }) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 });
      response.write('{"jsonrpc":"2.0",');
      setTimeout(() => response.destroy(), 20);
    },
  });
  world.shim.send({ id: 'a', method: 'x' });
  expect(await world.shim.next()).toMatchObject({ id: 'a', error: { code: -32_000 } });
});

test('at the end of the input, what is under way is answered first', async () => {
  await using world = await startBoth({
    mcp: async (call) => {
      await sleep(200);
      answerWithEcho(call);
    },
  });
  world.shim.send({ id: 1, method: 'x' });
  const code = world.shim.end();
  expect(await world.shim.next()).toMatchObject({ id: 1, result: {} });
  expect(await code).toBe(0);
});

test('a last frame without a line end is sent too', async () => {
  await using world = await startBoth();
  world.shim.child.stdin?.write('{"jsonrpc":"2.0","id":1,"method":"x"}');
  void world.shim.end();
  expect(await world.shim.next()).toMatchObject({ id: 1, result: {} });
});

test('a subscription does not keep it after the end of the input', async () => {
  await using world = await startBoth({
    mcp: ({ response }) => sendEvents(response, 'data: {"jsonrpc":"2.0","method":"hello"}\n\n'),
  });
  world.shim.send({ id: 1, method: 'subscriptions/listen' });
  expect(await world.shim.next()).toMatchObject({ method: 'hello' });
  expect(await world.shim.end()).toBe(0);
});

test.each(['SIGINT', 'SIGTERM'] as const)('%s ends it at once, and its session', async (signal) => {
  await using world = await startBoth({
    mcp: (call) => {
      if (call.body.includes('"never"')) return;
      call.response.setHeader('mcp-session-id', 's');
      if (!call.body.includes('"initialize"')) return answerWithEcho(call);
      call.response.writeHead(200, { 'content-type': 'application/json' });
      call.response.end(reply(0, { protocolVersion: '2025-11-25' }));
    },
  });
  world.shim.send(initialize);
  await world.shim.next();
  world.shim.send({ id: 1, method: 'never' });
  await until(() => world.gateway.calls.length === 2);
  world.shim.child.kill(signal);
  expect(await world.shim.exited).toBe(0);
  expect(world.gateway.calls.at(-1)?.method).toBe('DELETE');
  expect(await world.shim.nextLine()).toBeUndefined();
});

test('it ends when nobody reads its answers any more', async () => {
  await using world = await startBoth();
  world.shim.send({ id: 1, method: 'x' });
  await world.shim.next();
  world.shim.child.stdout?.destroy();
  world.shim.send({ id: 2, method: 'x' });
  world.shim.send({ id: 3, method: 'x' });
  expect(await world.shim.exited).toBe(0);
  expect(world.shim.stderr()).toBe('');
});

test('a slow reader gets everything, and stops the reading of more', async () => {
  const answer = 'c'.repeat(50_000);
  await using world = await startBoth({
    mcp: ({ body, response }) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(reply(JSON.parse(body).id, { answer }));
    },
  });
  world.shim.child.stdout?.pause();
  for (let id = 1; id <= 300; id++) world.shim.send({ id, method: 'x' });
  await sleep(300);
  expect(world.gateway.calls.length).toBeLessThan(300);
  world.shim.child.stdout?.resume();
  for (let count = 0; count < 300; count++)
    expect(await world.shim.next()).toHaveProperty('result');
  expect(world.shim.stderr()).toBe('');
});
