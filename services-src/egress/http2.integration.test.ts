import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { constants, createSecureServer } from 'node:http2';
import type {
  Http2Stream,
  IncomingHttpHeaders,
  ServerHttp2Session,
  ServerHttp2Stream,
} from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { failureOf, openLoopback, startConnectProxy } from './calls.testing.ts';
import { createCertificate } from './certificate.testing.ts';
import type { Egress, EgressOptions, EgressRequest } from './index.ts';
import { parseProxy } from './proxy.ts';
import { portOf } from './upstream.testing.ts';

const certificate = createCertificate('up.test');
const folder = mkdtempSync(join(tmpdir(), 'egress-h2-'));
const caFile = join(folder, 'ca.pem');
writeFileSync(caFile, certificate.cert);
afterAll(() => rmSync(folder, { recursive: true }));

interface Hit {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}
type UpstreamBehaviour = (stream: ServerHttp2Stream, session: ServerHttp2Session, hit: Hit) => void;

const state: {
  play: UpstreamBehaviour;
  sessions: Set<ServerHttp2Session>;
  opened: number;
  hits: Hit[];
} = {
  play: () => {},
  sessions: new Set(),
  opened: 0,
  hits: [],
};
const server = createSecureServer({ ...certificate, allowHTTP1: true });
server.on('session', (session) => {
  state.sessions.add(session);
  state.opened += 1;
  session.on('close', () => state.sessions.delete(session)).on('error', () => {});
});
server.on('stream', (stream: ServerHttp2Stream, headers) => {
  let body = '';
  stream.on('error', () => {});
  stream.on('data', (chunk: Buffer) => (body += chunk.toString()));
  const hit = {
    headers,
    get body() {
      return body;
    },
  };
  state.hits.push(hit);
  const { session } = stream;
  stream.on('end', () => session && state.play(stream, session as ServerHttp2Session, hit));
});
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  for (const session of state.sessions) session.destroy();
  server.close();
});

const upstreamUrl = () => `https://up.test:${portOf(server)}/path?q=1`;

/** Runs a new client against an upstream with the given behaviour. */
async function withUpstream<T>(
  play: UpstreamBehaviour,
  use: (egress: Egress) => Promise<T>,
  options: Partial<EgressOptions> = {},
): Promise<T> {
  Object.assign(state, { play, opened: 0, hits: [] });
  await using egress = openLoopback({ resolve: async () => ['127.0.0.1'], caFile, ...options });
  return await use(egress);
}

const ok: UpstreamBehaviour = (stream) => {
  stream.respond({ ':status': 200, 'content-type': 'text/plain' });
  stream.end('ok');
};
const createPostRequest = (requestOverrides: Partial<EgressRequest> = {}): EgressRequest => ({
  method: 'POST',
  url: upstreamUrl(),
  body: Buffer.from('{}'),
  ...requestOverrides,
});

describe('an upstream that offers HTTP/2', () => {
  it('gets all requests over one HTTP/2 connection, exactly as the callers made them', async () => {
    const answers = await withUpstream(
      (stream) => {
        stream.respond({ ':status': 201, 'x-a': 'b', 'set-cookie': ['one=1', 'two=2'] });
        stream.end('ok');
      },
      (egress) =>
        Promise.all(
          Array.from({ length: 30 }, () =>
            egress.request(
              createPostRequest({
                headers: [
                  ['Host', 'evil.example'],
                  ['X-Api-Key', 's3cret'],
                  ['Connection', 'close'],
                  ['Keep-Alive', '1'],
                  ['Transfer-Encoding', 'chunked'],
                  ['TE', 'trailers'],
                ],
              }),
            ),
          ),
        ),
    );
    expect(answers).toHaveLength(30);
    for (const { status, headers, body } of answers) {
      expect(status).toBe(201);
      expect(Buffer.from(body).toString()).toBe('ok');
      expect(headers.filter(([name]) => name !== 'date')).toEqual([
        ['x-a', 'b'],
        ['set-cookie', 'one=1'],
        ['set-cookie', 'two=2'],
      ]);
    }
    expect(state.opened).toBe(1);
    expect(state.hits).toHaveLength(30);
    expect(Object.fromEntries(Object.entries(state.hits[0]?.headers ?? {}))).toEqual({
      ':authority': `up.test:${portOf(server)}`,
      ':method': 'POST',
      ':path': '/path?q=1',
      ':scheme': 'https',
      'x-api-key': 's3cret',
      'content-length': '2',
    });
    expect(state.hits[0]?.body).toBe('{}');
  });

  it('is subject to the size limits of bodies and response heads', async () => {
    const limits = { maxBytes: 1_000_000, maxRatio: 10 };
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    const failures = await withUpstream(
      (stream, _session, { headers }) => {
        switch (headers['x-play']) {
          case 'large':
            stream.respond({ ':status': 200 });
            return stream.end(Buffer.alloc(2_000_000));
          case 'bomb':
            stream.respond({ ':status': 200, 'content-encoding': 'gzip' });
            return stream.end(bomb);
          case 'short':
            stream.respond({ ':status': 200, 'content-length': '10' });
            return stream.end('x');
          case 'many':
            stream.respond(
              Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`x-${n}`, '1'])),
            );
            return stream.end();
          default:
            for (let n = 0; n < 100; n += 1)
              stream.additionalHeaders({ ':status': 103, link: `<${n}>` });
            return undefined;
        }
      },
      async (egress) => {
        const codes: Record<string, unknown> = {};
        for (const play of ['large', 'bomb', 'short', 'many', 'interim']) {
          const { code, left } = await failureOf(
            egress.request(createPostRequest({ ...limits, headers: { 'x-play': play } })),
          );
          codes[play] = code;
          expect(left).toBe(true);
        }
        const cutAnswer = await egress.request(
          createPostRequest({ maxBytes: 10, overflow: 'truncate', headers: { 'x-play': 'large' } }),
        );
        expect(cutAnswer).toMatchObject({ truncated: true });
        expect(cutAnswer.body).toHaveLength(10);
        state.play = ok;
        expect(await egress.request(createPostRequest())).toMatchObject({ status: 200 });
        return codes;
      },
    );
    expect(failures).toEqual({
      large: 'response_too_large',
      bomb: 'response_too_large',
      short: 'upstream_incomplete',
      many: 'upstream_incomplete',
      interim: 'upstream_incomplete',
    });
  });

  it('stays connected even when a request has unusual headers', async () => {
    const slowStreams: ServerHttp2Stream[] = [];
    await withUpstream(
      (stream, session, hit) => {
        if (hit.headers['x-play'] === 'slow') slowStreams.push(stream);
        else ok(stream, session, hit);
      },
      async (egress) => {
        const patientCall = egress.request(createPostRequest({ headers: { 'x-play': 'slow' } }));
        await expect.poll(() => slowStreams.length).toBe(1);
        const oddHeaders: [string, string][][] = [
          [
            ['Authorization', 'a'],
            ['authorization', 'b'],
          ],
          [
            ['X-A', 'a'],
            ['x-a', 'b'],
          ],
          [
            ['Cookie', 'a'],
            ['cookie', 'b'],
          ],
          [
            ['content-type', 'a'],
            ['Content-Type', 'b'],
          ],
          [['__proto__', 'a']],
          [['x-a', ' a\t']],
          [['x-a', '\u00ff']],
          [
            ['upgrade', 'h2c'],
            ['proxy-connection', 'x'],
          ],
          Array.from({ length: 900 }, (_, n) => [`x-${n}`, 'y'.repeat(60)]),
        ];
        for (const headers of oddHeaders)
          await egress.request(createPostRequest({ headers })).catch(() => {});
        for (const stream of slowStreams) ok(stream, [...state.sessions][0]!, state.hits[0]!);
        expect(await patientCall).toMatchObject({ status: 200 });
        expect(state.opened).toBe(1);
      },
    );
  });

  it('is subject to the deadlines, and a call that ends early does not disturb other calls', async () => {
    const slowStreams: ServerHttp2Stream[] = [];
    await withUpstream(
      (stream, _session, { headers }) => {
        if (headers['x-play'] === 'silent') return;
        if (headers['x-play'] === 'slow') return void slowStreams.push(stream);
        stream.respond({ ':status': 200 });
        stream.write('x');
        const writeTimer = setInterval(() => stream.write('x'), 20);
        stream.on('close', () => clearInterval(writeTimer));
      },
      async (egress) => {
        const patientCall = egress.request(createPostRequest({ headers: { 'x-play': 'slow' } }));
        const silentRequest = { firstByteTimeoutMs: 100, headers: { 'x-play': 'silent' } };
        const controller = new AbortController();
        const cancelled = egress.request(
          createPostRequest({ headers: { 'x-play': 'silent' }, signal: controller.signal }),
        );
        expect(await failureOf(egress.request(createPostRequest(silentRequest)))).toMatchObject({
          code: 'upstream_timeout',
          left: true,
        });
        expect(
          await failureOf(egress.request(createPostRequest({ totalTimeoutMs: 150 }))),
        ).toMatchObject({
          code: 'upstream_timeout',
          status: 200,
        });
        controller.abort();
        expect(await failureOf(cancelled)).toMatchObject({ code: 'upstream_timeout', left: true });
        for (const stream of slowStreams)
          ok(stream, state.sessions.values().next().value!, state.hits[0]!);
        expect(await patientCall).toMatchObject({ status: 200 });
        expect(state.opened).toBe(1);
      },
    );
  });
});

describe('a request over HTTP/2', () => {
  const refuseStream = (stream: Http2Stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM);

  it('is sent once more after the upstream refused its stream, and beforeSend is called again first', async () => {
    let refusalsLeft = 1;
    let requestsCount = 0;
    await withUpstream(
      (stream, session, hit) => {
        refusalsLeft -= 1;
        if (refusalsLeft >= 0) refuseStream(stream);
        else ok(stream, session, hit);
      },
      async (egress) => {
        const beforeSend = () => void (requestsCount += 1);
        expect(await egress.request(createPostRequest({ beforeSend }))).toMatchObject({
          status: 200,
        });
        expect(requestsCount).toBe(2);
        refusalsLeft = 1;
        const answerLate = () => {
          requestsCount += 1;
          if (requestsCount === 4) throw new Error('lease lost');
        };
        const failure = await failureOf(
          egress.request(createPostRequest({ beforeSend: answerLate })),
        );
        expect(failure).toMatchObject({ left: false });
        refusalsLeft = Infinity;
        expect(await failureOf(egress.request(createPostRequest()))).toMatchObject({
          code: 'upstream_unreachable',
          left: false,
        });
        expect(state.hits).toHaveLength(5);
      },
    );
  });

  it('is sent again over a second connection when a GOAWAY says that its stream was not processed', async () => {
    await withUpstream(
      (stream, session, hit) => {
        if (state.hits.length !== 2) ok(stream, session, hit);
        else session.goaway(constants.NGHTTP2_NO_ERROR, 1);
      },
      async (egress) => {
        for (let n = 0; n < 2; n += 1)
          expect(await egress.request(createPostRequest())).toMatchObject({ status: 200 });
        expect(state.opened).toBe(2);
        expect(state.hits).toHaveLength(3);
      },
    );
  });

  it.each<[string, UpstreamBehaviour]>([
    ['reset without an answer', (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR)],
    ['cancelled by the upstream', (stream) => stream.close(constants.NGHTTP2_CANCEL)],
    ['dropped with its connection', (_stream, session) => session.destroy()],
    ['dropped with its socket', (_stream, session) => session.socket.destroy()],
    [
      'within the last stream of a GOAWAY',
      (stream, session) => {
        session.goaway(constants.NGHTTP2_NO_ERROR, stream.id ?? 1);
        setTimeout(() => session.destroy(), 20);
      },
    ],
    [
      'dropped after a GOAWAY for everything',
      (_stream, session) => {
        session.goaway(constants.NGHTTP2_INTERNAL_ERROR, 2 ** 31 - 1);
        setTimeout(() => session.destroy(), 20);
      },
    ],
  ])('counts as possibly processed and is not sent again when it was %s', async (_what, play) => {
    await withUpstream(play, async (egress) => {
      const failures = await Promise.all(
        Array.from({ length: 5 }, () =>
          failureOf(egress.request(createPostRequest({ totalTimeoutMs: 5_000 }))),
        ),
      );
      const unsentFailures = failures.filter(({ left }) => !left);
      // Some requests were not yet on the connection when it was lost; only those may count as
      // unsent.
      expect(state.hits.length).toBeLessThanOrEqual(5 - unsentFailures.length);
      expect(failures[0]).toMatchObject({ left: true, status: undefined });
      expect(String(failures[0]?.code)).toMatch(/^upstream_(unreachable|incomplete)$/);
    });
  });

  it('also goes through a CONNECT proxy', async () => {
    await using proxy = await startConnectProxy();
    await withUpstream(
      ok,
      async (egress) => {
        expect(await egress.request(createPostRequest())).toMatchObject({ status: 200 });
        expect(state.hits).toHaveLength(1);
        expect(proxy.heads[0]).toMatch(/^CONNECT 127\.0\.0\.1:\d+ /);
      },
      { proxy: parseProxy(`http://127.0.0.1:${proxy.port}`, { resolvesNames: false }) },
    );
  });
});
