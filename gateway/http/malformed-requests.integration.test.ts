import { once } from 'node:events';
import { connect } from 'node:net';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { ConfigError } from '#config';
import { sendRequest, createStage } from '../neighbours.testing.ts';
import type { Stage } from '../neighbours.testing.ts';
import type { RunningGateway } from '../start.ts';

let stage: Stage;
let gateway: RunningGateway;
let port: number;

beforeAll(async () => {
  stage = await createStage();
  gateway = await stage.gateway();
  port = Number(new URL(gateway.url).port);
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

/**
 * Sends raw bytes and returns everything that the server answers before it closes the connection.
 */
async function sendBytes(bytes: string | Buffer): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(bytes);
  socket.setTimeout(1_500, () => socket.end());
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}

const hostHeader = () => `Host: 127.0.0.1:${port}`;
const crlf = '\r\n';

describe('malformed requests on the wire', () => {
  test.for<[name: string, bytes: () => string | Buffer]>([
    ['bytes that are no HTTP', () => 'hello there\r\n\r\n'],
    ['a TLS ClientHello', () => Buffer.from('16030100a50100', 'hex')],
    [
      'a request with an unknown HTTP version',
      () => `GET / HTTP/9.9${crlf}${hostHeader()}${crlf}${crlf}`,
    ],
    ['a space in the path', () => `GET /a b HTTP/1.1${crlf}${hostHeader()}${crlf}${crlf}`],
    [
      'a header without colon',
      () => `GET /v1 HTTP/1.1${crlf}${hostHeader()}${crlf}nonsense${crlf}${crlf}`,
    ],
    [
      'a NUL in a header',
      () => `GET /v1 HTTP/1.1${crlf}${hostHeader()}${crlf}X: a\0b${crlf}${crlf}`,
    ],
    [
      'a folded header',
      () => `GET /v1 HTTP/1.1${crlf} Host: x${crlf}${hostHeader()}${crlf}${crlf}`,
    ],
    ['a space before the colon', () => `GET /v1 HTTP/1.1${crlf}Host : x${crlf}${crlf}`],
    [
      'two Content-Length headers',
      () => `${postRequestHead()}Content-Length: 2${crlf}Content-Length: 3${crlf}${crlf}{}`,
    ],
    [
      'a Content-Length together with chunked coding',
      () =>
        `${postRequestHead()}Content-Length: 2${crlf}Transfer-Encoding: chunked${crlf}${crlf}0${crlf}${crlf}`,
    ],
    ['a negative Content-Length', () => `${postRequestHead()}Content-Length: -1${crlf}${crlf}`],
    ['a Content-Length in hex', () => `${postRequestHead()}Content-Length: 0x2${crlf}${crlf}{}`],
    [
      'an unknown transfer coding',
      () => `${postRequestHead()}Transfer-Encoding: chunked, cow${crlf}${crlf}0${crlf}${crlf}`,
    ],
    [
      'a bad chunk size',
      () => `${postRequestHead()}Transfer-Encoding: chunked${crlf}${crlf}zz${crlf}{}${crlf}`,
    ],
    [
      'headers that do not end',
      () => `GET /v1 HTTP/1.1${crlf}${hostHeader()}${crlf}X: ${'a'.repeat(20_000)}${crlf}${crlf}`,
    ],
    [
      'many headers',
      () => `GET /v1 HTTP/1.1${crlf}${hostHeader()}${crlf}${`X-A: b${crlf}`.repeat(5_000)}${crlf}`,
    ],
    ['a request without Host', () => `GET /v1 HTTP/1.1${crlf}${crlf}`],
    [
      'a foreign Host',
      () => `GET /v1 HTTP/1.1${crlf}Host: evil.example${crlf}Connection: close${crlf}${crlf}`,
    ],
    [
      'a URL of another server in the request line',
      () =>
        `GET http://evil.example/v1/status HTTP/1.1${crlf}Host: evil.example${crlf}Connection: close${crlf}${crlf}`,
    ],
    ['CONNECT', () => `CONNECT evil.example:443 HTTP/1.1${crlf}${hostHeader()}${crlf}${crlf}`],
    ['an unknown method', () => `BREW /v1 HTTP/1.1${crlf}${hostHeader()}${crlf}${crlf}`],
    [
      'a request to upgrade to h2c',
      () =>
        `GET /v1/nothing HTTP/1.1${crlf}${hostHeader()}${crlf}Connection: Upgrade, close${crlf}Upgrade: h2c${crlf}${crlf}`,
    ],
  ])('the answer to %s is a 4xx without HTML or a stack trace', async ([, bytes]) => {
    const reply = await sendBytes(bytes());

    if (reply !== '') expect(reply).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect(reply).not.toMatch(/<html|<pre|node:internal|\.ts:\d+/i);
    const body = reply.split(`${crlf}${crlf}`)[1] ?? '';
    if (body !== '') expect(JSON.parse(body)).toHaveProperty('request_id');
    expect((await sendRequest(gateway.url, '/health/live')).status).toBe(200);
  });

  test('a request smuggled in the body of another request is not served', async () => {
    const innerRequest = `GET /health/live HTTP/1.1${crlf}${hostHeader()}${crlf}${crlf}`;
    const reply = await sendBytes(
      `${postRequestHead()}Content-Length: ${innerRequest.length}${crlf}Transfer-Encoding: chunked${crlf}${crlf}0${crlf}${crlf}${innerRequest}`,
    );

    expect(reply.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(reply).not.toContain('"status":"ok"');
  });

  test('a request with headers that are too large is answered 431 with an error code', async () => {
    const reply = await sendBytes(
      `GET /v1 HTTP/1.1${crlf}${hostHeader()}${crlf}X: ${'a'.repeat(40_000)}${crlf}${crlf}`,
    );

    expect(reply).toMatch(/^HTTP\/1\.1 431 /);
    expect(reply).toContain('"error":"too_large"');
  });

  test('a health check is answered under any Host header', async () => {
    const reply = await sendBytes(
      `GET /health/live HTTP/1.1${crlf}Host: 10.1.2.3:8080${crlf}Connection: close${crlf}${crlf}`,
    );

    expect(reply).toContain('{"status":"ok"}');
  });
});

function postRequestHead(): string {
  return `POST /v1/actions/call HTTP/1.1${crlf}${hostHeader()}${crlf}Content-Type: application/json${crlf}`;
}

describe('a gateway that cannot start', () => {
  test.for<[name: string, settings: Record<string, string>, sentence: RegExp]>([
    [
      'a BASE_URL with plain http on another host',
      { BASE_URL: 'http://gateway.example.com' },
      /BASE_URL must be https/,
    ],
    [
      'a BASE_URL with plain http on an IP address',
      { BASE_URL: 'http://10.0.0.5:8080' },
      /BASE_URL must be https/,
    ],
    [
      'a BASE_URL with a path',
      { BASE_URL: 'https://example.com/gateway' },
      /BASE_URL must be a scheme/,
    ],
    ['invalid TRUSTED_PROXIES', { TRUSTED_PROXIES: 'not-an-address' }, /TRUSTED_PROXIES must be/],
  ])('because of %s says so in its error message', async ([, settings, sentence]) => {
    const startAttempt = stage.gateway(settings);

    await expect(startAttempt).rejects.toThrow(ConfigError);
    await expect(stage.gateway(settings)).rejects.toThrow(sentence);
  });

  test('because its port is in use says so in its error message', async () => {
    await expect(stage.gateway({ PORT: String(port) })).rejects.toThrow(/PORT \d+ .* is taken/);
  });
});

test('under https the cookie has the __Host- prefix, and HSTS is sent', async () => {
  await using httpsGateway = await stage.gateway({ BASE_URL: 'https://gateway.example.com' });
  expect(httpsGateway.url).toBe('https://gateway.example.com');
});
