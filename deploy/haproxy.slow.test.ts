import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

import { describe, expect, test } from 'vitest';

import { lastingPort } from '../services-src/embedded/index.ts';
import { startHaproxy } from '../test/support/haproxy.ts';
import { needs } from '../test/support/needs.ts';
import { sendRaw } from '../test/support/raw.ts';
import { pollUntil } from '../test/support/world.ts';

const haproxy = needs('haproxy');

interface Gateway extends AsyncDisposable {
  readonly address: string;
  isReady: boolean;
}

/**
 * A server that answers health checks as a gateway does, and answers all other requests with the
 * given function.
 */
async function startGateway(answer: RequestListener): Promise<Gateway> {
  const gateway = { isReady: true };
  const server = createServer((incoming, reply) => {
    if (incoming.url !== '/health/ready') return answer(incoming, reply);
    reply.writeHead(gateway.isReady ? 200 : 503).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(gateway, {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  });
}

async function startBalanced(
  gateways: readonly Gateway[],
): Promise<AsyncDisposable & { url: string }> {
  const port = await lastingPort();
  const balancer = await startHaproxy({ port, servers: gateways.map(({ address }) => address) });
  const url = `http://127.0.0.1:${port}`;
  return { url, [Symbol.asyncDispose]: () => balancer[Symbol.asyncDispose]() };
}

const isAnswered = (url: string) => async () => (await fetch(`${url}/health/ready`)).ok;

describe.skipIf(!haproxy.isAvailable)(`the balancer${haproxy.note}`, () => {
  test("tells the gateway the client's address, and removes headers in which a client claims a host", async () => {
    await using gateway = await startGateway(
      ({ headers }, reply) => void reply.end(JSON.stringify(headers)),
    );
    await using balancer = await startBalanced([gateway]);
    await pollUntil(isAnswered(balancer.url), 'the gateway is ready');

    const { body } = await sendRaw(balancer.url, {
      method: 'GET',
      path: '/',
      headers: {
        host: 'gateway.example.com',
        'x-forwarded-for': '203.0.113.9',
        'x-forwarded-host': 'elsewhere.example.com',
        'x-forwarded-proto': 'ftp',
      },
    });
    const headers = JSON.parse(String(body)) as Record<string, string>;
    expect(headers).toMatchObject({
      host: 'gateway.example.com',
      'x-forwarded-for': '203.0.113.9, 127.0.0.1',
    });
    expect(Object.keys(headers).filter((name) => name.startsWith('x-forwarded-'))).toEqual([
      'x-forwarded-for',
    ]);
  });

  test('passes on paths, long headers and large bodies unchanged', async () => {
    await using gateway = await startGateway((incoming, reply) => {
      let bytes = 0;
      incoming.on('data', (chunk: Buffer) => (bytes += chunk.length));
      incoming.on('end', () =>
        reply.end(`${incoming.url} ${incoming.headers['x-long']?.length} ${bytes}`),
      );
    });
    await using balancer = await startBalanced([gateway]);
    await pollUntil(isAnswered(balancer.url), 'the gateway is ready');

    const { body } = await sendRaw(balancer.url, {
      path: '/a%2Fb/../c//d?e=%zz',
      headers: { 'x-long': 'x'.repeat(15_000) },
      body: Buffer.alloc(5_000_000, 'x'),
    });
    expect(body).toBe('/a%2Fb/../c//d?e=%zz 15000 5000000');
  });

  test("passes on each event of a stream at once, and closes the gateway's connection when the client disconnects", async () => {
    let hasEnded = false;
    await using gateway = await startGateway((_, reply) => {
      reply.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: first\n\n');
      reply.on('close', () => (hasEnded = true));
    });
    await using balancer = await startBalanced([gateway]);
    await pollUntil(isAnswered(balancer.url), 'the gateway is ready');

    const client = request(balancer.url).end();
    const [reply] = (await once(client, 'response')) as [IncomingMessage];
    const [chunk] = (await once(reply, 'data')) as [Buffer];
    expect(chunk.toString()).toBe('data: first\n\n');
    expect(hasEnded).toBe(false);
    client.destroy();
    await pollUntil(() => hasEnded, 'the gateway sees that the client has gone');
  });

  test(
    'sends requests only to gateways that are ready, and answers 503 if none is ready',
    { timeout: 120_000 },
    async () => {
      await using first = await startGateway((_, reply) => void reply.end('first'));
      await using second = await startGateway((_, reply) => void reply.end('second'));
      await using balancer = await startBalanced([first, second]);
      const ask = async () => (await fetch(balancer.url)).text();
      const answers = new Set<string>();
      await pollUntil(async () => answers.add(await ask()).size === 2, 'both gateways answer');

      first.isReady = false;
      let answersOfSecond = 0;
      await pollUntil(async () => {
        answersOfSecond = (await ask()) === 'second' ? answersOfSecond + 1 : 0;
        return answersOfSecond === 20;
      }, 'the second one alone answers');

      second.isReady = false;
      await pollUntil(async () => (await fetch(balancer.url)).status === 503, 'no gateway answers');
      const refusal = await fetch(balancer.url);
      expect(await refusal.json()).toMatchObject({ error: 'unavailable' });
      expect(refusal.headers.get('retry-after')).toBe('1');
    },
  );

  test('never sends a request twice, and reports an unknown outcome if a gateway ends before it answers', async () => {
    let requests = 0;
    const endBeforeAnswer: RequestListener = (incoming) => {
      requests += 1;
      incoming.socket.destroy();
    };
    await using first = await startGateway(endBeforeAnswer);
    await using second = await startGateway(endBeforeAnswer);
    await using balancer = await startBalanced([first, second]);
    await pollUntil(isAnswered(balancer.url), 'a gateway is ready');

    const reply = await fetch(balancer.url, { method: 'POST', body: '{}' });
    expect(reply.status).toBe(502);
    expect(await reply.json()).toMatchObject({ error: 'outcome_unknown' });
    expect(requests).toBe(1);
  });
});
