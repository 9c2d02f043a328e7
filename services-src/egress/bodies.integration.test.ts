import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';

import { callRaw, failureOf, openLoopback } from './calls.testing.ts';
import type { EgressRequest } from './index.ts';
import { startRawUpstream } from './upstream.testing.ts';

async function get(body: Buffer, headers: string, request: Partial<EgressRequest> = {}) {
  await using upstream = await startRawUpstream({
    answer: (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${headers}content-length: ${body.length}\r\n\r\n`);
      for (let at = 0; at < body.length; at += 1000) socket.write(body.subarray(at, at + 1000));
    },
  });
  await using egress = openLoopback();
  return await egress.request({
    method: 'GET',
    url: `http://127.0.0.1:${upstream.port}/`,
    ...request,
  });
}

describe('response bodies', () => {
  const text = 'hello, body. '.repeat(500);

  it.each<[string, (text: string) => Buffer]>([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['GZIP ', gzipSync],
  ])('are decoded from the Content-Encoding %s', async (coding, encode) => {
    const response = await get(encode(text), `Content-Encoding: ${coding}\r\n`);
    expect(Buffer.from(response.body).toString()).toBe(text);
    expect(response.headers).toEqual([]);
  });

  it.each(['identity', 'br', 'zstd', 'compress', 'gzip, gzip', '__proto__'])(
    'are not decoded from the Content-Encoding %s',
    async (coding) => {
      const response = await get(Buffer.from(text), `content-encoding: ${coding}\r\n`);
      expect(Buffer.from(response.body).toString()).toBe(text);
      expect(response.headers[0]).toEqual(['content-encoding', coding]);
    },
  );

  it.each([
    ['cut short', gzipSync(text).subarray(0, -9)],
    ['not gzip', Buffer.from(text)],
  ])('fail as incomplete when they should be gzip but are %s', async (_name, body) => {
    const failure = await failureOf(get(body, 'content-encoding: gzip\r\n'));
    expect(failure).toMatchObject({ code: 'upstream_incomplete', status: 200 });
  });

  it('may be empty even when the answer declares an encoding', async () => {
    const response = await get(Buffer.alloc(0), 'content-encoding: gzip\r\n');
    expect(response.body).toHaveLength(0);
  });

  it('are not expected after HEAD, nor with status 204', async () => {
    await using upstream = await startRawUpstream({
      answer: (socket, { head }) =>
        socket.write(
          head.startsWith('HEAD')
            ? 'HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\ncontent-encoding: gzip\r\n\r\n'
            : 'HTTP/1.1 204 No Content\r\n\r\n',
        ),
    });
    await using egress = openLoopback();
    const url = `http://127.0.0.1:${upstream.port}/`;
    const head = await egress.request({ method: 'HEAD', url });
    expect(head).toMatchObject({ status: 200, truncated: false });
    expect(head.headers).toHaveLength(2);
    expect(await egress.request({ method: 'GET', url })).toMatchObject({ status: 204 });
  });

  it('are refused when they exceed maxBytes, or are cut if the caller asks for that', async () => {
    const body = Buffer.alloc(5000, 'a');
    expect(await failureOf(get(body, '', { maxBytes: 4999 }))).toMatchObject({
      code: 'response_too_large',
      left: true,
      status: 200,
    });
    expect((await get(body, '', { maxBytes: 5000 })).body).toHaveLength(5000);
    const cutResponse = await get(body, '', { maxBytes: 4999, overflow: 'truncate' });
    expect(cutResponse).toMatchObject({ status: 200, truncated: true });
    expect(cutResponse.body).toHaveLength(4999);
    const gzipResponse = await get(gzipSync(body), 'content-encoding: gzip\r\n', {
      maxBytes: 100,
      overflow: 'truncate',
    });
    expect(Buffer.from(gzipResponse.body).toString()).toBe('a'.repeat(100));
  });

  it('are refused early and cost little memory when decoding expands them too far', async () => {
    const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024), { level: 9 });
    const memoryBefore = process.memoryUsage().rss;
    const headers = 'content-encoding: gzip\r\n';
    const limits = { maxBytes: 1024 * 1024 * 1024 };
    for (let n = 0; n < 10; n += 1) {
      const failure = await failureOf(get(bomb, headers, limits));
      expect(failure).toMatchObject({ code: 'response_too_large', left: true });
    }
    expect(process.memoryUsage().rss - memoryBefore).toBeLessThan(150 * 1024 * 1024);
  });

  it('are refused at the limit when they never end', async () => {
    const failure = await callRaw(
      (socket) => {
        const block = Buffer.alloc(64 * 1024);
        const writeUntilFull = () => {
          while (!socket.destroyed && socket.write(block));
        };
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        socket.on('drain', writeUntilFull);
        writeUntilFull();
      },
      { maxBytes: 20 * 1024 * 1024 },
    );
    expect(failure).toMatchObject({ code: 'response_too_large', status: 200 });
  });

  it('take about as much memory as they have bytes when they arrive in one-byte chunks', async () => {
    const chunks = '1\r\na\r\n'.repeat(300_000);
    await using upstream = await startRawUpstream({
      answer: (socket) =>
        socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`),
    });
    await using egress = openLoopback();
    const response = await egress.request({
      method: 'GET',
      url: `http://127.0.0.1:${upstream.port}/`,
    });
    expect(response.body).toHaveLength(300_000);
    expect(response.body.every((byte) => byte === 97)).toBe(true);
  });
});
