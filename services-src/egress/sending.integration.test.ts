import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';

import { callRaw, failureOf, openLoopback } from './calls.testing.ts';
import { mayHaveLeft } from './index.ts';
import type { EgressOptions } from './index.ts';
import { answerOk, startRawUpstream } from './upstream.testing.ts';

/** The shortest time limit that would end these calls if their own did not. */
const usualTimeoutMs = 30_000;

describe('deadlines of outgoing calls', () => {
  it('end a call when the head of the answer does not come', async () => {
    const failure = await callRaw(() => {}, { firstByteTimeoutMs: 150 });
    expect(failure).toMatchObject({ code: 'upstream_timeout', left: true, status: undefined });
    expect(failure.ms).toBeGreaterThan(140);
    expect(failure.ms).toBeLessThan(usualTimeoutMs);
  });

  it.each([
    ['single bytes', (socket: Socket) => socket.write('a')],
    ['an endless chunk extension', (socket: Socket) => socket.write('x'.repeat(1000))],
  ])('end a call whose body never ends and consists of %s', async (_name, writePiece) => {
    const failure = await callRaw(
      (socket) => {
        const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;';
        const plain = 'HTTP/1.1 200 OK\r\n\r\n';
        socket.write(_name.startsWith('chunk') ? chunked : plain);
        const timer = setInterval(() => writePiece(socket), 5);
        socket.on('close', () => clearInterval(timer));
      },
      { totalTimeoutMs: 300 },
    );
    expect(failure).toMatchObject({ code: 'upstream_timeout', left: true, status: 200 });
    expect(failure.ms).toBeLessThan(usualTimeoutMs);
  });

  it('end a call whose TLS handshake stalls, before anything is sent', async () => {
    await using upstream = await startRawUpstream();
    await using egress = openLoopback();
    const url = `https://127.0.0.1:${upstream.port}/`;
    const call = egress.request({ method: 'POST', url, connectTimeoutMs: 150 });
    expect(await failureOf(call)).toMatchObject({ code: 'upstream_timeout', left: false });
  });

  it('end a call whose DNS query hangs, before anything is sent', async () => {
    await using egress = openLoopback({ resolve: () => new Promise(() => {}) });
    const call = egress.request({
      method: 'POST',
      url: 'https://a.example/',
      connectTimeoutMs: 100,
    });
    expect(await failureOf(call)).toMatchObject({ code: 'upstream_timeout', left: false });
  });

  it('end a call that waits for a free connection, and leave the connection open', async () => {
    const held: Socket[] = [];
    await using upstream = await startRawUpstream({ answer: (socket) => held.push(socket) });
    await using egress = openLoopback({ connectionsPerOrigin: 1 });
    const post = (path: string, connectTimeoutMs: number) =>
      egress.request({
        method: 'POST',
        url: `http://127.0.0.1:${upstream.port}${path}`,
        connectTimeoutMs,
      });
    const first = post('/1', 5000);
    const second = await failureOf(post('/2', 100));
    expect(second).toMatchObject({ code: 'upstream_timeout', left: false });
    answerOk(held[0]!);
    expect((await first).status).toBe(200);
    const third = post('/3', 5000);
    await expect.poll(() => held.length).toBe(2);
    answerOk(held[1]!);
    expect((await third).status).toBe(200);
    expect(upstream.received.map(({ head }) => head.split(' ')[1])).toEqual(['/1', '/3']);
    expect(upstream.connections()).toBe(1);
  });
});

describe('a failed outgoing call', () => {
  it.each<[string, string, Partial<EgressOptions>, string]>([
    ['no listener at the address', 'http://127.0.0.1:1/', {}, 'upstream_unreachable'],
    [
      'no address for the host name',
      'https://a.invalid/',
      { resolve: async () => Promise.reject(new Error('x')) },
      'upstream_unreachable',
    ],
    [
      'a forbidden address in the DNS answer',
      'https://a.example/',
      { resolve: async () => ['10.0.0.1'] },
      'upstream_refused_address',
    ],
    ['a forbidden address in the URL', 'https://10.0.0.1/', {}, 'upstream_refused_address'],
    [
      'an empty DNS answer',
      'https://a.example/',
      { resolve: async () => [] },
      'upstream_refused_address',
    ],
  ])('sent nothing when the failure was %s', async (_name, url, options, code) => {
    await using egress = openLoopback(options);
    const sent: string[] = [];
    const onSent = () => sent.push('sent');
    expect(await failureOf(egress.request({ method: 'POST', url, onSent }))).toMatchObject({
      code,
      left: false,
    });
    expect(sent).toEqual([]);
  });

  it.each(['GET\r\n', 'get', 'CONNECT', 'TRACE', ''])(
    'sent nothing when its method is %j',
    async (method) => {
      await using egress = openLoopback();
      const call = egress.request({ method, url: 'http://127.0.0.1:1/' });
      expect(await failureOf(call)).toMatchObject({ code: 'invalid_request', left: false });
    },
  );

  it('sent nothing when beforeSend throws, and leaves the connection usable', async () => {
    await using upstream = await startRawUpstream({ answer: (socket) => answerOk(socket) });
    await using egress = openLoopback();
    const url = `http://127.0.0.1:${upstream.port}/`;
    const leaseLost = new Error('lease lost');
    const beforeSend = () => {
      throw leaseLost;
    };
    await expect(egress.request({ method: 'POST', url, beforeSend })).rejects.toBe(leaseLost);
    expect(mayHaveLeft(leaseLost)).toBe(false);
    expect(upstream.received).toEqual([]);
    await egress.request({ method: 'GET', url });
    expect(upstream.connections()).toBe(1);
  });

  it('may have sent the request once onSent was called, and never sends it again', async () => {
    let servedCount = 0;
    await using upstream = await startRawUpstream({
      answer: (socket) => ((servedCount += 1) === 1 ? answerOk(socket) : socket.destroy()),
    });
    await using egress = openLoopback();
    const url = `http://127.0.0.1:${upstream.port}/`;
    await egress.request({ method: 'GET', url });
    const sent: string[] = [];
    const call = egress.request({ method: 'GET', url, onSent: () => sent.push('sent') });
    expect(await failureOf(call)).toMatchObject({ code: 'upstream_unreachable', left: true });
    expect(sent).toEqual(['sent']);
    expect(upstream.received).toHaveLength(2);
  });

  it('sent nothing when aborted before sending, and may have sent the request when aborted later', async () => {
    await using upstream = await startRawUpstream();
    await using egress = openLoopback();
    const url = `http://127.0.0.1:${upstream.port}/`;
    const callAbortedBefore = egress.request({ method: 'POST', url, signal: AbortSignal.abort() });
    expect(await failureOf(callAbortedBefore)).toMatchObject({
      code: 'upstream_timeout',
      left: false,
    });
    const controller = new AbortController();
    const onSent = () => setTimeout(() => controller.abort(), 20);
    const callAbortedAfter = egress.request({
      method: 'POST',
      url,
      signal: controller.signal,
      onSent,
    });
    expect(await failureOf(callAbortedAfter)).toMatchObject({
      code: 'upstream_timeout',
      left: true,
    });
  });

  it('sent nothing when the client was closed before the call, and may have sent the request when it was closed during the call', async () => {
    await using upstream = await startRawUpstream();
    const egress = openLoopback();
    const url = `http://127.0.0.1:${upstream.port}/`;
    const running = failureOf(egress.request({ method: 'POST', url }));
    await expect.poll(() => upstream.received.length).toBe(1);
    await egress[Symbol.asyncDispose]();
    expect(await running).toMatchObject({ left: true });
    const lateRequest = egress.request({ method: 'POST', url });
    expect(await failureOf(lateRequest)).toMatchObject({ code: 'unavailable', left: false });
  });
});
