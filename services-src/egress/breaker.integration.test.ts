import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';

import { failureOf, openLoopback } from './calls.testing.ts';
import { answerOk, portOf, startRawUpstream } from './upstream.testing.ts';

const breakerOptions = { pauseMs: 60_000, pauseMaxMs: 60_000, patienceMs: 50 };
const getRequest = { method: 'GET', circuit: 'org-1' } as const;

async function findClosedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server);
  server.close();
  await once(server, 'close');
  return port;
}

describe('the circuit breaker of an upstream', () => {
  it('stops the requests of one group of callers after five failures, while requests of other groups and to other origins still pass', async () => {
    await using upstream = await startRawUpstream({ answer: (socket) => socket.destroy() });
    await using otherUpstream = await startRawUpstream({ answer: (socket) => answerOk(socket) });
    await using egress = openLoopback({ breaker: breakerOptions });
    const url = `http://127.0.0.1:${upstream.port}/`;
    for (let n = 0; n < 5; n += 1) {
      expect(await failureOf(egress.request({ ...getRequest, url }))).toMatchObject({ left: true });
    }
    const call = egress.request({ ...getRequest, method: 'POST', url });
    await expect(call).rejects.toMatchObject({ details: { retry_after: expect.any(Number) } });
    expect(await failureOf(egress.request({ ...getRequest, url }))).toMatchObject({
      code: 'upstream_unreachable',
      left: false,
    });
    expect(upstream.received).toHaveLength(5);

    expect(await failureOf(egress.request({ ...getRequest, url, circuit: 'org-2' }))).toMatchObject(
      {
        left: true,
      },
    );
    expect(await failureOf(egress.request({ method: 'GET', url }))).toMatchObject({ left: true });
    const requestElsewhere = { ...getRequest, url: `http://127.0.0.1:${otherUpstream.port}/` };
    expect(await egress.request(requestElsewhere)).toMatchObject({ status: 200 });
  });

  it.each([
    ['refuses connections', undefined],
    ['answers with bytes that are not HTTP', 'nonsense'],
    ['is silent', ''],
  ])('opens when the upstream %s', async (_what, answerText) => {
    await using upstream = await startRawUpstream({
      answer: (socket) => answerText && socket.end(answerText),
    });
    await using egress = openLoopback({ breaker: breakerOptions });
    const port = answerText === undefined ? await findClosedPort() : upstream.port;
    const call = { ...getRequest, url: `http://127.0.0.1:${port}/`, totalTimeoutMs: 60 };
    for (let n = 0; n < 5; n += 1) await failureOf(egress.request(call));
    await expect(egress.request(call)).rejects.toMatchObject({
      code: 'upstream_unreachable',
      details: { retry_after: expect.any(Number) },
    });
  });

  it.each([
    ['answers with an error status', 'HTTP/1.1 503 X\r\ncontent-length: 0\r\n\r\n'],
    ['breaks off the body of an answer', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx'],
    [
      'sends a body beyond maxBytes',
      `HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n${'x'.repeat(999)}`,
    ],
    ['loses a caller that waited only briefly', ''],
  ])('does not open when the upstream %s', async (_what, answerText) => {
    await using upstream = await startRawUpstream({
      answer: (socket) => answerText && socket.end(answerText),
    });
    await using egress = openLoopback({ breaker: { ...breakerOptions, patienceMs: 10_000 } });
    const url = `http://127.0.0.1:${upstream.port}/`;
    const call = {
      ...getRequest,
      url,
      maxBytes: 100,
      totalTimeoutMs: answerText === '' ? 300 : 30_000,
    };
    for (let n = 0; n < 7; n += 1) await egress.request(call).catch(() => {});
    expect(upstream.received).toHaveLength(7);
  });

  it('lets one probe at a time pass until the upstream answers again', async () => {
    let isUpstreamBack = false;
    await using upstream = await startRawUpstream({
      answer: (socket) => (isUpstreamBack ? answerOk(socket) : socket.destroy()),
    });
    await using egress = openLoopback({ breaker: { ...breakerOptions, pauseMs: 20 } });
    const call = { ...getRequest, url: `http://127.0.0.1:${upstream.port}/` };
    for (let n = 0; n < 5; n += 1) await failureOf(egress.request(call));
    await new Promise((resolve) => setTimeout(resolve, 30));
    isUpstreamBack = true;
    const settledRequests = await Promise.allSettled(
      Array.from({ length: 20 }, () => egress.request(call)),
    );
    expect(settledRequests.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(upstream.received).toHaveLength(6);
    expect(await egress.request(call)).toMatchObject({ status: 200 });
  });
});
