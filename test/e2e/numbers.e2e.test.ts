import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { createToolCall, postMcp } from '../../gateway/mcp/clients.testing.ts';
import { createAgent, startWorld, successfulBodyOf } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

/** Numbers that a double cannot hold: ids of 64 bits, and a price with many digits. */
const answerText =
  '{"id":9007199254740993,"price":0.12345678901234567891,"ids":[18446744073709551615,7]}';
const shownAnswer = {
  id: '9007199254740993',
  price: '0.12345678901234567891',
  ids: ['18446744073709551615', 7],
};

const templateText = (server: string) => `openapi: 3.1.0
info: { title: Things, key: things, category: Testing }
servers: [{ url: '${server}' }]
paths:
  /things:
    get: { operationId: list_things, summary: List things }
    post:
      operationId: create_thing
      summary: Create thing {id}
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              properties:
                id: { type: integer }
                name: { type: string }
                parts: { type: array, items: { type: object, properties: { price: { type: number } } } }
  /things/{id}:
    delete:
      operationId: delete_thing
      summary: Delete thing {id}
      parameters: [{ name: id, in: path, required: true, schema: { type: integer } }]
`;

/** The upstream and the agent get the number unchanged, over REST and over MCP. */
describe('a number with more digits than a double can hold', () => {
  const stack = new AsyncDisposableStack();
  const hits: { method: string; url: string; body: string }[] = [];
  let world: World;
  let agent: Agent;
  let upstreamUrl: string;

  beforeAll(async () => {
    const upstream = createServer((request, reply) => {
      let body = '';
      request.on('data', (chunk) => void (body += chunk));
      request.on('end', () => {
        hits.push({ method: request.method ?? '', url: request.url ?? '', body });
        reply.setHeader('content-type', 'application/json').end(answerText);
      });
    });
    upstream.listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    stack.defer(() => {
      upstream.closeAllConnections();
      upstream.close();
    });
    upstreamUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
    world = stack.use(await startWorld({ EGRESS_ALLOW: '127.0.0.1/32' }));
    const { admin, url } = world;
    agent = await createAgent(url, admin, 'bot');
    successfulBodyOf(
      await admin.post('/v1/templates', { openapi: templateText(upstreamUrl), tier: 'user' }),
    );
    successfulBodyOf(await admin.post('/v1/templates/things/publish', { version: 1 }));
    successfulBodyOf(await admin.post('/v1/services', { template: 'things' }));
    const rule = { identity_id: agent.id, effect: 'allow', pattern: 'things:create_thing:*' };
    successfulBodyOf(await admin.post('/v1/rules', rule));
  });
  afterAll(() => stack.disposeAsync());
  beforeEach(() => hits.splice(0));

  /** Sends this JSON text unchanged, with all digits. */
  async function postText(path: string, text: string, caller: Agent = agent) {
    const headers = { authorization: `Bearer ${caller.key}`, 'content-type': 'application/json' };
    const reply = await fetch(`${world.url}${path}`, { method: 'POST', headers, body: text });
    // eslint-disable-next-line typescript/no-explicit-any -- replies are looked at field by field
    return { status: reply.status, body: (await reply.json()) as any };
  }
  const call = (fields: object) => agent.post('/v1/actions/call', { service: 'things', ...fields });

  test('is returned as text over REST, in the full and in the filtered body, with a note', async () => {
    const { result } = successfulBodyOf(
      await call({ action: 'list_things', filter: '[.ids[], .price]' }),
    );

    expect(result.body).toEqual(shownAnswer);
    expect(result.filtered_body).toEqual(['18446744073709551615', 7, '0.12345678901234567891']);
    expect(result.numbers_as_text).toBe(true);
  });

  test.for([{}, { verbose: true }])('is returned as text over MCP: %j', async (more) => {
    const { body } = await postMcp(world.url, agent.key, {
      body: createToolCall('service_read', { service: 'things', action: 'list_things', ...more }),
    });
    const { result } = body.result.structuredContent;

    const shown = typeof result.body === 'string' ? JSON.parse(result.body) : result.body;
    expect(shown).toEqual(shownAnswer);
    expect(result.numbers_as_text).toBe(true);
  });

  test('identifies the same thing whether it is sent back as text or as a number', async () => {
    const { admin } = world;
    const texts = ['"9007199254740993"', '9007199254740993'];
    for (const id of texts) {
      const { body } = await postText(
        '/v1/actions/call',
        `{"service":"things","action":"delete_thing","params":{"id":${id}}}`,
      );
      expect(body).toMatchObject({
        status: 'pending_approval',
        action_description: 'Delete thing 9007199254740993',
      });
      const path = `/v1/approvals/${body.approval_id}`;
      successfulBodyOf(await admin.post(`${path}/resolve`, { resolution: 'allow' }));
      const { result } = successfulBodyOf(
        await agent.post('/v1/actions/call', { approval_id: body.approval_id }),
      );
      expect(result.body).toEqual(shownAnswer);
      const { execution } = successfulBodyOf(await admin.get(path));
      expect(execution.result).toMatchObject({ body: shownAnswer, numbers_as_text: true });
    }

    expect(hits.map(({ method, url }) => `${method} ${url}`)).toEqual(
      texts.map(() => 'DELETE /things/9007199254740993'),
    );
  });

  test.for([
    '"params":{"id":9007199254740993,"name":"7","parts":[{"price":0.12345678901234567891}]}',
    '"params":{"id":"9007199254740993","name":"7","parts":[{"price":"0.12345678901234567891"}]}',
    `"params":${JSON.stringify('{"id":9007199254740993,"name":"7","parts":[{"price":0.12345678901234567891}]}')}`,
  ])('is sent to the upstream as a number if the action expects a number: %s', async (params) => {
    const { body } = await postText(
      '/v1/actions/call',
      `{"service":"things","action":"create_thing",${params}}`,
    );

    expect(body).toMatchObject({ status: 'called' });
    expect(hits.map((hit) => hit.body)).toEqual([
      '{"id":9007199254740993,"name":"7","parts":[{"price":0.12345678901234567891}]}',
    ]);
  });

  test('is sent to the upstream as a number by a call over MCP', async () => {
    const frame = JSON.stringify(
      createToolCall('service_call', {
        service: 'things',
        action: 'create_thing',
        params: { id: 1234, name: 'x' },
      }),
    ).replace('1234', '9007199254740993');
    const { body } = await postMcp(world.url, agent.key, { body: frame });

    expect(body.result.structuredContent).toMatchObject({ status: 'called' });
    expect(hits.map((hit) => hit.body)).toEqual(['{"id":9007199254740993,"name":"x"}']);
  });

  test('is refused in the JSON body of a raw call, but sent unchanged in a body that is a text', async () => {
    const raw = `"service":"http","method":"POST","url":"${upstreamUrl}/things"`;
    const refused = await postText('/v1/actions/call', `{${raw},"body":{"id":9007199254740993}}`);
    expect(refused).toMatchObject({
      status: 400,
      body: { error: 'invalid_request', issues: [{ path: 'body.id' }] },
    });

    const sent = `{"id":9007199254740993}`;
    const rawCall = {
      service: 'http',
      method: 'POST',
      url: `${upstreamUrl}/things`,
      headers: { 'content-type': 'application/json' },
      body: sent,
    };
    successfulBodyOf(await world.admin.post('/v1/actions/call', rawCall));
    expect(hits.map((hit) => hit.body)).toEqual([sent]);
  });
});
