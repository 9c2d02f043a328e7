import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';

import { openLoopback } from './calls.testing.ts';
import { answerOk, startRawUpstream } from './upstream.testing.ts';

describe('the request that the upstream receives', () => {
  it("is exactly the caller's request, without the headers that callers may not set", async () => {
    await using upstream = await startRawUpstream({ answer: (socket) => answerOk(socket) });
    await using egress = openLoopback();
    const response = await egress.request({
      method: 'POST',
      url: `http://127.0.0.1:${upstream.port}/a%20b/%2e%2Fc?q=%0A&x=y#fragment`,
      headers: [
        ['Host', 'evil.example'],
        ['X-Api-Key', 's3cret'],
        ['Connection', 'close'],
        ['Content-Length', '1'],
        ['Transfer-Encoding', 'chunked'],
        ['X-Forwarded-For', '10.0.0.1'],
        ['Content-Type', 'text/plain'],
      ],
      body: Buffer.from('h\u00e9llo'),
    });
    expect(response).toMatchObject({ status: 200, truncated: false });
    expect(Buffer.from(response.body).toString()).toBe('ok');
    expect(upstream.received).toEqual([
      {
        head:
          `POST /a%20b/%2e%2Fc?q=%0A&x=y HTTP/1.1\r\nhost: 127.0.0.1:${upstream.port}\r\n` +
          'connection: keep-alive\r\nX-Api-Key: s3cret\r\nContent-Type: text/plain\r\n' +
          'content-length: 6\r\n\r\n',
        body: Buffer.from('h\u00e9llo').toString('latin1'),
      },
    ]);
  });

  it('comes over a keep-alive connection, for which DNS was asked once', async () => {
    let requestsCount = 0;
    const resolve = async () => ((requestsCount += 1), ['127.0.0.1']);
    await using upstream = await startRawUpstream({ answer: (socket) => answerOk(socket) });
    await using egress = openLoopback({ resolve });
    for (let n = 0; n < 20; n += 1) {
      await egress.request({ method: 'GET', url: `http://up.test:${upstream.port}/${n}` });
    }
    // A connection is free again one turn of the event loop after its answer, so there may be two.
    expect(upstream.connections()).toBeLessThanOrEqual(2);
    expect(requestsCount).toBe(upstream.connections());
  });

  it('is the only one, because redirects are not followed', async () => {
    await using canary = await startRawUpstream();
    const location = `location: http://127.0.0.1:${canary.port}/\r\n`;
    for (const status of [301, 302, 303, 307, 308]) {
      await using upstream = await startRawUpstream({
        answer: (socket) =>
          socket.write(`HTTP/1.1 ${status} X\r\n${location}content-length: 0\r\n\r\n`),
      });
      await using egress = openLoopback();
      const url = `http://127.0.0.1:${upstream.port}/`;
      expect(await egress.request({ method: 'GET', url })).toMatchObject({ status });
    }
    expect(canary.connections()).toBe(0);
  });
});

describe('a DNS server that changes its answers', () => {
  it('never leads a call to an address that the guard did not check', async () => {
    await using allowedUpstream = await startRawUpstream({
      answer: (socket) => socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nok'),
    });
    const forbiddenServer = createServer();
    forbiddenServer.listen(allowedUpstream.port, '127.0.0.2');
    await once(forbiddenServer, 'listening');
    let hits = 0;
    forbiddenServer.on('connection', (socket) => ((hits += 1), socket.destroy()));
    let requestsCount = 0;
    const answers = [
      ['127.0.0.1'],
      ['127.0.0.2'],
      ['127.0.0.1', '127.0.0.2'],
      ['127.0.0.2', '127.0.0.1'],
    ];
    const resolve = async () => answers[(requestsCount += 1) % answers.length]!;
    const outcomes = new Map<string, number>();
    {
      await using egress = openLoopback({ resolve });
      for (let n = 0; n < 1000; n += 1) {
        const call = egress.request({
          method: 'GET',
          url: `http://flip.test:${allowedUpstream.port}/`,
        });
        const outcome = await call.then(
          (response) => String(response.status),
          (error: { code: string }) => error.code,
        );
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      }
    }
    forbiddenServer.close();
    expect(hits).toBe(0);
    expect(Object.fromEntries(outcomes)).toEqual({ '200': 250, upstream_refused_address: 750 });
  });
});

describe('the connection pools of many origins', () => {
  it('are kept up to a limit, and running calls continue when the pool of their origin is evicted', async () => {
    const held: Socket[] = [];
    await using slowUpstream = await startRawUpstream({ answer: (socket) => held.push(socket) });
    await using upstream = await startRawUpstream({ answer: (socket) => answerOk(socket) });
    await using egress = openLoopback({ resolve: async () => ['127.0.0.1'], originsMax: 4 });
    const running = egress.request({
      method: 'GET',
      url: `http://slow.test:${slowUpstream.port}/`,
    });
    for (let n = 0; n < 20; n += 1) {
      await egress.request({ method: 'GET', url: `http://up${n}.test:${upstream.port}/` });
    }
    await expect.poll(() => held.length).toBe(1);
    answerOk(held[0]!);
    expect(await running).toMatchObject({ status: 200 });
    expect(upstream.connections()).toBe(20);
  });
});
