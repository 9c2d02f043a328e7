import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';

import { callRaw, openLoopback } from './calls.testing.ts';
import type { Failure } from './calls.testing.ts';
import { answerOk, startRawUpstream } from './upstream.testing.ts';

describe('a broken answer of an upstream', () => {
  const ok = 'HTTP/1.1 200 OK\r\n';
  const cut = { code: 'upstream_incomplete', left: true, status: 200 };

  it.each<[string, (socket: Socket) => void, Partial<Failure>]>([
    [
      'is reset before its head',
      (s) => s.resetAndDestroy(),
      { code: 'upstream_unreachable', left: true },
    ],
    ['is closed before its head', (s) => s.end(), { code: 'upstream_unreachable', left: true }],
    [
      'ends inside its head',
      (s) => s.end('HTTP/1.1 200 OK\r\nx-a'),
      { code: 'upstream_unreachable', left: true },
    ],
    ['is not HTTP', (s) => s.write('SSH-2.0-x\r\n'), { code: 'upstream_incomplete', left: true }],
    [
      'is 100 Continue fifty times',
      (s) => s.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(50)),
      { left: true },
    ],
    [
      'is a flood of early hints',
      (s) => s.write('HTTP/1.1 103 X\r\n\r\n'.repeat(5000)),
      { left: true },
    ],
    [
      'is an upgrade that was not requested',
      (s) => s.write('HTTP/1.1 101 X\r\nupgrade: x\r\n\r\n'),
      { left: true },
    ],
    [
      'has 100 000 headers',
      (s) => s.write(ok + 'x: y\r\n'.repeat(100_000)),
      { code: 'response_too_large' },
    ],
    [
      'has a header without end',
      (s) => s.write(`${ok}x: ${'y'.repeat(200_000)}`),
      { code: 'response_too_large' },
    ],
    ['is cut by FIN', (s) => s.end(`${ok}content-length: 10\r\n\r\nabc`), cut],
    ['is cut inside a chunk', (s) => s.end(`${ok}transfer-encoding: chunked\r\n\r\n5\r\nabc`), cut],
    ['has no last chunk', (s) => s.end(`${ok}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n`), cut],
    [
      'has an invalid chunk size',
      (s) => s.write(`${ok}transfer-encoding: chunked\r\n\r\nzz\r\nabc`),
      cut,
    ],
    [
      'has two different lengths',
      (s) => s.write(`${ok}content-length: 1\r\ncontent-length: 2\r\n\r\nab`),
      { code: 'upstream_incomplete' },
    ],
    [
      'has both a Content-Length and chunks',
      (s) => s.write(`${ok}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`),
      { code: 'upstream_incomplete' },
    ],
  ])('makes the call fail when it %s', async (_name, answer, expected) => {
    expect(await callRaw(answer)).toMatchObject(expected);
  });

  it('still reports its status when the connection is reset inside its body', async () => {
    const failure = await callRaw((socket) => {
      socket.write(`${ok}content-length: 10\r\n\r\nabc`);
      setTimeout(() => socket.resetAndDestroy(), 20);
    });
    expect(failure).toMatchObject(cut);
  });

  it('never leaves bytes on the connection that the next call would read as its answer', async () => {
    const smuggledAnswer = `${ok}content-length: 6\r\n\r\nstolen`;
    await using upstream = await startRawUpstream({
      answer: (socket, { head }) => {
        if (head.startsWith('GET /first'))
          socket.write(`${ok}content-length: 2\r\n\r\nok${smuggledAnswer}`);
        else answerOk(socket, 'mine');
      },
    });
    await using egress = openLoopback({ connectionsPerOrigin: 1 });
    const get = (path: string) =>
      egress.request({ method: 'GET', url: `http://127.0.0.1:${upstream.port}${path}` });
    await get('/first').catch(() => {});
    for (let n = 0; n < 5; n += 1) {
      const { body } = await get('/next');
      expect(Buffer.from(body).toString()).toBe('mine');
    }
  });
});
