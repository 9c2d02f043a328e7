import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';

import type { AppError } from '#errors';
import type { Logger } from '#telemetry';
import { failureOf, openLoopback, startConnectProxy } from './calls.testing.ts';
import { createCertificate } from './certificate.testing.ts';
import { mayHaveLeft, openEgress, parseEgressAllow } from './index.ts';
import { parseProxy } from './proxy.ts';
import { answerOk, startRawUpstream } from './upstream.testing.ts';

const certificate = createCertificate('up.test');
const resolve = async () => ['127.0.0.1'];

async function withCaFile<T>(use: (caFile: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'egress-'));
  try {
    const caFile = join(folder, 'ca.pem');
    await writeFile(caFile, certificate.cert);
    return await use(caFile);
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('a TLS connection', () => {
  it('verifies the host name against the default authorities and EGRESS_CA_FILE', async () => {
    await using upstream = await startRawUpstream({
      tls: certificate,
      answer: (socket) => answerOk(socket),
    });
    await withCaFile(async (caFile) => {
      await using trustingEgress = openLoopback({ resolve, caFile });
      const url = `https://up.test:${upstream.port}/`;
      expect(await trustingEgress.request({ method: 'GET', url })).toMatchObject({ status: 200 });
      const callToOtherName = trustingEgress.request({
        method: 'POST',
        url: `https://other.test:${upstream.port}/`,
      });
      expect(await failureOf(callToOtherName)).toMatchObject({
        code: 'upstream_unreachable',
        left: false,
      });
    });
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      await using egress = openLoopback({ resolve });
      const call = egress.request({ method: 'POST', url: `https://up.test:${upstream.port}/` });
      expect(await failureOf(call)).toMatchObject({ code: 'upstream_unreachable', left: false });
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    }
    expect(upstream.received).toHaveLength(1);
  });

  it('fails with an error that says why', async () => {
    await using secure = await startRawUpstream({
      tls: certificate,
      answer: (socket) => answerOk(socket),
    });
    await using plain = createServer();
    await new Promise<void>((done) => void plain.listen(0, '127.0.0.1', done));
    const { port: plainPort } = plain.address() as AddressInfo;
    const closed = await startRawUpstream({ answer: (socket) => answerOk(socket) });
    await closed[Symbol.asyncDispose]();
    await using egress = openLoopback({ resolve });
    const notFound = Object.assign(new Error('none'), { code: 'ENOTFOUND' });
    await using nameless = openLoopback({ resolve: () => Promise.reject(notFound) });
    const reasonOf = async (port: number, client = egress) => {
      const url = `https://up.test:${port}/`;
      const error: unknown = await client.request({ method: 'POST', url }).catch((e) => e);
      return (error as AppError).details;
    };

    expect(await reasonOf(secure.port)).toMatchObject({ reason: 'tls' });
    expect(await reasonOf(plainPort)).toMatchObject({ reason: 'no_tls' });
    expect(await reasonOf(closed.port)).toMatchObject({ reason: 'refused' });
    expect(await reasonOf(secure.port, nameless)).toMatchObject({ reason: 'dns' });
  });

  it('verifies the host name when EGRESS_PROXY connects to the address that the guard checked', async () => {
    await using upstream = await startRawUpstream({
      tls: certificate,
      answer: (socket) => answerOk(socket),
    });
    await using plainUpstream = await startRawUpstream({
      answer: (socket) => answerOk(socket, 'plain'),
    });
    await using proxy = await startConnectProxy();
    await withCaFile(async (caFile) => {
      await using egress = openLoopback({
        resolve,
        caFile,
        proxy: parseProxy(`http://user:p%40ss@127.0.0.1:${proxy.port}`, { resolvesNames: false }),
      });
      const secure = `https://up.test:${upstream.port}/`;
      expect(await egress.request({ method: 'GET', url: secure })).toMatchObject({ status: 200 });
      const cleartext = `http://up.test:${plainUpstream.port}/`;
      expect(await egress.request({ method: 'GET', url: cleartext })).toMatchObject({
        status: 200,
      });
      const refusedCall = egress.request({ method: 'POST', url: 'http://up.test:1/' });
      expect(await failureOf(refusedCall)).toMatchObject({
        code: 'upstream_unreachable',
        left: false,
      });
      const forbiddenCall = egress.request({ method: 'POST', url: 'https://10.0.0.1/' });
      expect(await failureOf(forbiddenCall)).toMatchObject({ code: 'upstream_refused_address' });
    });
    const credentials = Buffer.from('user:p@ss').toString('base64');
    expect(proxy.heads).toEqual(
      [upstream.port, plainUpstream.port, 1].map(
        (port) =>
          `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n` +
          `proxy-authorization: Basic ${credentials}\r\n\r\n`,
      ),
    );
  });

  it('goes to the host name when the proxy looks names up, and still verifies the name', async () => {
    await using upstream = await startRawUpstream({
      tls: certificate,
      answer: (socket) => answerOk(socket),
    });
    await using proxy = await startConnectProxy();
    await withCaFile(async (caFile) => {
      await using egress = openEgress({
        allow: parseEgressAllow('plain.corp:80'),
        caFile,
        proxy: parseProxy(`http://127.0.0.1:${proxy.port}`, { resolvesNames: true }),
        resolve: () => expect.fail('a name was looked up here'),
      });
      const url = `https://up.test:${upstream.port}/`;
      expect(await egress.request({ method: 'GET', url })).toMatchObject({ status: 200 });
      const otherName = `https://other.test:${upstream.port}/`;
      const callToOtherName = egress.request({ method: 'POST', url: otherName });
      expect(await failureOf(callToOtherName)).toMatchObject({ code: 'upstream_unreachable' });
      for (const host of ['10.0.0.1', '127.1', '[::1]', '169.254.169.254', 'localhost', 'nats']) {
        const refusedCall = egress.request({ method: 'GET', url: `https://${host}/` });
        expect(await failureOf(refusedCall)).toMatchObject({ code: 'upstream_refused_address' });
      }
    });
    expect(proxy.heads.map((head) => head.split(' ')[1])).toEqual([
      `up.test:${upstream.port}`,
      `other.test:${upstream.port}`,
    ]);
  });

  it.each([
    ['HTTP/1.1 407 Proxy Authentication Required\r\n', /wants other credentials \(407\)/, 407],
    ['HTTP/1.1 403 CANARY-name is not allowed\r\n', /refuses to connect to this host \(403\)/, 403],
    ['HTTP/1.0 503 x\r\n', /could not connect to this host \(503\)/, 503],
    ['SSH-2.0-CANARY\r\n', /cannot be reached, or does not answer as an HTTP proxy/, undefined],
    ['', /cannot be reached, or does not answer as an HTTP proxy/, undefined],
  ])(
    'is explained to the caller and in the log when the proxy answers with %j',
    async (answer, expectedMessage, status) => {
      await using proxy = await startRawUpstream({
        answer: (socket) => socket.end(answer && `${answer}x-user: CANARY-user\r\n\r\nCANARY-page`),
      });
      const lines: unknown[] = [];
      await using egress = openLoopback({
        resolve,
        proxy: parseProxy(`http://user:CANARY-pass@127.0.0.1:${proxy.port}`, {
          resolvesNames: false,
        }),
        logger: { warn: (...line: unknown[]) => lines.push(line) } as unknown as Logger,
      });
      const request = { method: 'GET', url: 'http://up.test:81/', circuit: 'org' };
      // Makes more calls than the failures that open a circuit breaker. The calls still fail with
      // the proxy's refusal, because refusals by the proxy do not count for the breaker.
      const errors: unknown[] = [];
      for (let n = 0; n < (status === 407 || status === 403 ? 8 : 1); n += 1) {
        errors.push(await egress.request(request).catch((thrown: unknown) => thrown));
      }
      for (const error of errors) {
        expect(error).toMatchObject({
          code: 'upstream_unreachable',
          message: expect.stringMatching(expectedMessage),
          details: status === undefined ? { reason: 'proxy_failed' } : { proxy_status: status },
        });
        expect(mayHaveLeft(error)).toBe(false);
      }
      expect(lines).toEqual([[{ target: 'up.test:81' }, expect.stringMatching(expectedMessage)]]);
      expect(inspect([lines, errors], { depth: 10 })).not.toMatch(/CANARY|dXNlcj/);
    },
  );

  it('works through a proxy that itself uses TLS', async () => {
    await using upstream = await startRawUpstream({
      tls: certificate,
      answer: (socket) => answerOk(socket),
    });
    const proxyCertificate = createCertificate('localhost');
    await using proxy = await startConnectProxy(proxyCertificate);
    await withCaFile(async (caFile) => {
      await writeFile(caFile, certificate.cert + proxyCertificate.cert);
      await using egress = openLoopback({
        resolve,
        caFile,
        proxy: parseProxy(`https://localhost:${proxy.port}`, { resolvesNames: false }),
      });
      for (let n = 0; n < 3; n += 1) {
        const url = `https://up.test:${upstream.port}/${n}`;
        expect(await egress.request({ method: 'GET', url })).toMatchObject({ status: 200 });
      }
    });
    expect(proxy.heads.length).toBeGreaterThan(0);
  });

  it('ignores the proxy variables of the environment', async () => {
    await using upstream = await startRawUpstream({ answer: (socket) => answerOk(socket) });
    const proxyVariables = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY'];
    for (const name of proxyVariables) process.env[name] = 'http://127.0.0.1:1';
    try {
      await using egress = openLoopback();
      const url = `http://127.0.0.1:${upstream.port}/`;
      expect(await egress.request({ method: 'GET', url })).toMatchObject({ status: 200 });
    } finally {
      for (const name of proxyVariables) delete process.env[name];
    }
  });
});
