import { once } from 'node:events';
import { connect } from 'node:net';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { ConfigError } from '#config';
import { ask, createStage } from './neighbours.testing.ts';
import type { Stage } from './neighbours.testing.ts';
import type { RunningGateway } from './start.ts';

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

/** Sends bytes as they are and returns everything that comes back until the server closes. */
async function send(bytes: string | Buffer): Promise<string> {
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

const host = () => `Host: 127.0.0.1:${port}`;
const crlf = '\r\n';

describe('malformed requests on the wire', () => {
  test.for<[name: string, bytes: () => string | Buffer]>([
    ['no HTTP at all', () => 'hello there\r\n\r\n'],
    ['a TLS hello', () => Buffer.from('16030100a50100', 'hex')],
    ['a bad version', () => `GET / HTTP/9.9${crlf}${host()}${crlf}${crlf}`],
    ['a space in the path', () => `GET /a b HTTP/1.1${crlf}${host()}${crlf}${crlf}`],
    [
      'a header without colon',
      () => `GET /v1 HTTP/1.1${crlf}${host()}${crlf}nonsense${crlf}${crlf}`,
    ],
    ['a NUL in a header', () => `GET /v1 HTTP/1.1${crlf}${host()}${crlf}X: a\0b${crlf}${crlf}`],
    ['a folded header', () => `GET /v1 HTTP/1.1${crlf} Host: x${crlf}${host()}${crlf}${crlf}`],
    ['a space before the colon', () => `GET /v1 HTTP/1.1${crlf}Host : x${crlf}${crlf}`],
    ['two lengths', () => `${post()}Content-Length: 2${crlf}Content-Length: 3${crlf}${crlf}{}`],
    [
      'a length and chunks',
      () =>
        `${post()}Content-Length: 2${crlf}Transfer-Encoding: chunked${crlf}${crlf}0${crlf}${crlf}`,
    ],
    ['a negative length', () => `${post()}Content-Length: -1${crlf}${crlf}`],
    ['a length in hex', () => `${post()}Content-Length: 0x2${crlf}${crlf}{}`],
    [
      'an unknown coding',
      () => `${post()}Transfer-Encoding: chunked, cow${crlf}${crlf}0${crlf}${crlf}`,
    ],
    [
      'a bad chunk size',
      () => `${post()}Transfer-Encoding: chunked${crlf}${crlf}zz${crlf}{}${crlf}`,
    ],
    [
      'headers without end',
      () => `GET /v1 HTTP/1.1${crlf}${host()}${crlf}X: ${'a'.repeat(20_000)}${crlf}${crlf}`,
    ],
    [
      'many headers',
      () => `GET /v1 HTTP/1.1${crlf}${host()}${crlf}${`X-A: b${crlf}`.repeat(5_000)}${crlf}`,
    ],
    ['no Host', () => `GET /v1 HTTP/1.1${crlf}${crlf}`],
    [
      'a foreign Host',
      () => `GET /v1 HTTP/1.1${crlf}Host: evil.example${crlf}Connection: close${crlf}${crlf}`,
    ],
    [
      'another URL in the request line',
      () =>
        `GET http://evil.example/v1/status HTTP/1.1${crlf}Host: evil.example${crlf}Connection: close${crlf}${crlf}`,
    ],
    ['CONNECT', () => `CONNECT evil.example:443 HTTP/1.1${crlf}${host()}${crlf}${crlf}`],
    ['an unknown method', () => `BREW /v1 HTTP/1.1${crlf}${host()}${crlf}${crlf}`],
    [
      'an upgrade',
      () =>
        `GET /v1/nothing HTTP/1.1${crlf}${host()}${crlf}Connection: Upgrade, close${crlf}Upgrade: h2c${crlf}${crlf}`,
    ],
  ])('%s is refused with 4xx, without HTML or a stack', async ([, bytes]) => {
    const reply = await send(bytes());

    if (reply !== '') expect(reply).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect(reply).not.toMatch(/<html|<pre|node:internal|\.ts:\d+/i);
    const body = reply.split(`${crlf}${crlf}`)[1] ?? '';
    if (body !== '') expect(JSON.parse(body)).toHaveProperty('request_id');
    expect((await ask(gateway.url, '/health/live')).status).toBe(200);
  });

  test('a request smuggled behind another is not served', async () => {
    const inner = `GET /health/live HTTP/1.1${crlf}${host()}${crlf}${crlf}`;
    const reply = await send(
      `${post()}Content-Length: ${inner.length}${crlf}Transfer-Encoding: chunked${crlf}${crlf}0${crlf}${crlf}${inner}`,
    );

    expect(reply.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(reply).not.toContain('"status":"ok"');
  });

  test('headers too large are 431, typed', async () => {
    const reply = await send(
      `GET /v1 HTTP/1.1${crlf}${host()}${crlf}X: ${'a'.repeat(40_000)}${crlf}${crlf}`,
    );

    expect(reply).toMatch(/^HTTP\/1\.1 431 /);
    expect(reply).toContain('"error":"too_large"');
  });

  test('health is answered by address, whatever the Host', async () => {
    const reply = await send(
      `GET /health/live HTTP/1.1${crlf}Host: 10.1.2.3:8080${crlf}Connection: close${crlf}${crlf}`,
    );

    expect(reply).toContain('{"status":"ok"}');
  });
});

function post(): string {
  return `POST /v1/actions/call HTTP/1.1${crlf}${host()}${crlf}Content-Type: application/json${crlf}`;
}

describe('a gateway that cannot start says why in a sentence', () => {
  test.for<[name: string, settings: Record<string, string>, sentence: RegExp]>([
    ['plain http elsewhere', { BASE_URL: 'http://gateway.example.com' }, /BASE_URL must be https/],
    ['plain http on an address', { BASE_URL: 'http://10.0.0.5:8080' }, /BASE_URL must be https/],
    ['a path', { BASE_URL: 'https://example.com/gateway' }, /BASE_URL must be a scheme/],
    ['wrong proxies', { TRUSTED_PROXIES: 'not-an-address' }, /TRUSTED_PROXIES must be/],
  ])('%s', async ([, settings, sentence]) => {
    const started = stage.gateway(settings);

    await expect(started).rejects.toThrow(ConfigError);
    await expect(stage.gateway(settings)).rejects.toThrow(sentence);
  });

  test('a port that is taken', async () => {
    await expect(stage.gateway({ PORT: String(port) })).rejects.toThrow(/PORT \d+ .* is taken/);
  });
});

test('behind https the cookie is bound to the host and the browser told to stay on https', async () => {
  await using published = await stage.gateway({ BASE_URL: 'https://gateway.example.com' });
  expect(published.url).toBe('https://gateway.example.com');
});
