import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';

import { openLoopback } from './calls.testing.ts';
import type { EgressRequest, EgressResponse } from './index.ts';

const mebibyte = 1024 * 1024;

async function get(
  answer: (reply: ServerResponse) => unknown,
  use: (response: EgressResponse) => Promise<void>,
  request: Partial<EgressRequest> = {},
): Promise<void> {
  const server = createServer((_, reply) => void answer(reply)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  await using egress = openLoopback();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`;
  try {
    await use(
      await egress.request({
        method: 'GET',
        url,
        maxBytes: 64 * 1024,
        overflow: 'stream',
        streamMaxBytes: 8 * mebibyte,
        ...request,
      }),
    );
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

async function digestOf(stream: AsyncIterable<Buffer> | null): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of stream ?? []) hash.update(chunk);
  return hash.digest('hex');
}
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'succeeded',
    (thrown: { code?: string }) => thrown.code,
  );

describe('a response body that may become a stream', () => {
  const body = randomBytes(3 * mebibyte);

  test('is streamed whole from its first byte when it exceeds maxBytes, plain or decoded', async () => {
    await get(
      (reply) => reply.end(body),
      async ({ stream, body: kept, truncated }) => {
        expect([kept.length, truncated]).toEqual([0, false]);
        expect(await digestOf(stream)).toBe(sha256(body));
      },
    );
    await get(
      (reply) => reply.setHeader('content-encoding', 'gzip').end(gzipSync(body)),
      async ({ stream, headers }) => {
        expect(headers.map(([name]) => name.toLowerCase())).not.toContain('content-encoding');
        expect(await digestOf(stream)).toBe(sha256(body));
      },
    );
  });

  test('is returned as bytes when it fits into maxBytes', async () => {
    await get(
      (reply) => reply.end('small'),
      async ({ stream, body: kept }) => {
        expect([stream, Buffer.from(kept).toString()]).toEqual([null, 'small']);
      },
    );
  });

  test('slows the upstream down while nobody reads the stream', async () => {
    let written = 0;
    function* generateZeros() {
      for (; written < 512 * mebibyte; written += 64 * 1024) yield Buffer.alloc(64 * 1024);
    }
    const answerEndlessly = (reply: ServerResponse) => Readable.from(generateZeros()).pipe(reply);
    await get(
      answerEndlessly,
      async ({ stream }) => {
        let lastSeen = -1;
        while (lastSeen !== written) {
          lastSeen = written;
          await new Promise((resolve) => setTimeout(resolve, 300));
        }
        // The upstream could write only what fits into the kernel's socket buffers.
        expect(written).toBeLessThan(64 * mebibyte);
        stream?.destroy();
      },
      { streamMaxBytes: 1024 * mebibyte },
    );
  });

  test('ends the stream with an error when it is too large, expands too far, breaks off or runs out of time', async () => {
    const cases: [string, (reply: ServerResponse) => unknown, Partial<EgressRequest>][] = [
      [
        'response_too_large',
        (reply) => (reply.write(body), reply.end(body)),
        { streamMaxBytes: 4 * mebibyte },
      ],
      [
        'response_too_large',
        (reply) => {
          reply.setHeader('content-encoding', 'gzip');
          reply.end(gzipSync(Buffer.alloc(6 * mebibyte)));
        },
        {},
      ],
      [
        'upstream_incomplete',
        (reply) => {
          reply.setHeader('content-length', body.length);
          reply.write(body.subarray(0, mebibyte), () => reply.destroy());
        },
        {},
      ],
      ['upstream_timeout', (reply) => reply.write(body), { totalTimeoutMs: 1_000 }],
    ];
    for (const [code, answer, request] of cases) {
      await get(
        answer,
        async ({ stream, truncated }) => {
          if (truncated) expect(code).toBe('response_too_large');
          else expect(await codeOf(digestOf(stream))).toBe(code);
        },
        request,
      );
    }
  });

  test('is cut without being read when its Content-Length exceeds streamMaxBytes', async () => {
    await get(
      (reply) => {
        reply.setHeader('content-length', 9 * mebibyte);
        reply.write(body);
      },
      async ({ stream, truncated }) => {
        expect([stream, truncated]).toEqual([null, true]);
      },
    );
  });
});
