import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';

import { failureOf, openLoopback } from './calls.testing.ts';
import { answerOk, portOf, startRawUpstream } from './upstream.testing.ts';

const breaker = { pauseMs: 60_000, pauseMaxMs: 60_000, patienceMs: 50 };
const get = { method: 'GET', circuit: 'org-1' } as const;

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server);
  server.close();
  await once(server, 'close');
  return port;
}

describe('an upstream that does not answer', () => {
  it('is left alone after five failures, by whoever met them, and nobody else', async () => {
    await using upstream = await startRawUpstream({ answer: (socket) => socket.destroy() });
    await using other = await startRawUpstream({ answer: (socket) => answerOk(socket) });
    await using egress = openLoopback({ breaker });
    const url = `http://127.0.0.1:${upstream.port}/`;
    for (let n = 0; n < 5; n += 1) {
      expect(await failureOf(egress.request({ ...get, url }))).toMatchObject({ left: true });
    }
    const call = egress.request({ ...get, method: 'POST', url });
    await expect(call).rejects.toMatchObject({ details: { retry_after: expect.any(Number) } });
    expect(await failureOf(egress.request({ ...get, url }))).toMatchObject({
      code: 'upstream_unreachable',
      left: false,
    });
    expect(upstream.received).toHaveLength(5);

    expect(await failureOf(egress.request({ ...get, url, circuit: 'org-2' }))).toMatchObject({
      left: true,
    });
    expect(await failureOf(egress.request({ method: 'GET', url }))).toMatchObject({ left: true });
    const elsewhere = { ...get, url: `http://127.0.0.1:${other.port}/` };
    expect(await egress.request(elsewhere)).toMatchObject({ status: 200 });
  });

  it.each([
    ['refuses connections', undefined],
    ['answers nonsense', 'nonsense'],
    ['is silent', ''],
  ])('is one that %s', async (_what, words) => {
    await using upstream = await startRawUpstream({
      answer: (socket) => words && socket.end(words),
    });
    await using egress = openLoopback({ breaker });
    const port = words === undefined ? await closedPort() : upstream.port;
    const call = { ...get, url: `http://127.0.0.1:${port}/`, totalTimeoutMs: 60 };
    for (let n = 0; n < 5; n += 1) await failureOf(egress.request(call));
    await expect(egress.request(call)).rejects.toMatchObject({
      code: 'upstream_unreachable',
      details: { retry_after: expect.any(Number) },
    });
  });

  it.each([
    ['answers with an error', 'HTTP/1.1 503 X\r\ncontent-length: 0\r\n\r\n'],
    ['breaks off its body', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx'],
    ['sends too much', `HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n${'x'.repeat(999)}`],
    ['was not waited for', ''],
  ])('is not one that %s', async (_what, words) => {
    await using upstream = await startRawUpstream({
      answer: (socket) => words && socket.end(words),
    });
    await using egress = openLoopback({ breaker: { ...breaker, patienceMs: 10_000 } });
    const url = `http://127.0.0.1:${upstream.port}/`;
    const call = { ...get, url, maxBytes: 100, totalTimeoutMs: words === '' ? 20 : 5_000 };
    for (let n = 0; n < 7; n += 1) await egress.request(call).catch(() => {});
    expect(upstream.received).toHaveLength(7);
  });

  it('is asked by one request at a time until it answers again', async () => {
    let isBack = false;
    await using upstream = await startRawUpstream({
      answer: (socket) => (isBack ? answerOk(socket) : socket.destroy()),
    });
    await using egress = openLoopback({ breaker: { ...breaker, pauseMs: 20 } });
    const call = { ...get, url: `http://127.0.0.1:${upstream.port}/` };
    for (let n = 0; n < 5; n += 1) await failureOf(egress.request(call));
    await new Promise((resolve) => setTimeout(resolve, 30));
    isBack = true;
    const asked = await Promise.allSettled(Array.from({ length: 20 }, () => egress.request(call)));
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(upstream.received).toHaveLength(6);
    expect(await egress.request(call)).toMatchObject({ status: 200 });
  });
});
