import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { expect } from 'vitest';

import { mayHaveLeft, openEgress, parseEgressAllow, receivedHead } from './index.ts';
import type { Egress, EgressOptions, EgressRequest } from './index.ts';
import { portOf, startRawUpstream } from './upstream.testing.ts';

export function openLoopback(options: Partial<EgressOptions> = {}): Egress {
  return openEgress({ allow: parseEgressAllow('127.0.0.1/32'), ...options });
}

export interface Failure {
  readonly code: unknown;
  readonly left: boolean;
  readonly status: number | undefined;
  readonly ms: number;
}

/** Awaits a call that must fail, and returns the failure. */
export async function failureOf(call: Promise<unknown>): Promise<Failure> {
  const startedAt = performance.now();
  const error: unknown = await call.then(
    (value) => expect.fail(`succeeded: ${JSON.stringify(value)}`),
    (thrown: unknown) => thrown,
  );
  const ms = performance.now() - startedAt;
  expect(String(error)).not.toMatch(/127\.0\.0/);
  const code = error instanceof Error && 'code' in error ? error.code : error;
  return { code, left: mayHaveLeft(error), status: receivedHead(error)?.status, ms };
}

/** Calls an upstream that writes the given bytes as its answer, and returns how the call failed. */
export async function callRaw(
  answer: (socket: Socket) => void,
  request: Partial<EgressRequest> = {},
): Promise<Failure> {
  await using upstream = await startRawUpstream({ answer });
  await using egress = openLoopback();
  const url = `http://127.0.0.1:${upstream.port}/x`;
  const failure = await failureOf(egress.request({ method: 'POST', url, ...request }));
  expect(upstream.received).toHaveLength(1);
  return failure;
}

export interface ConnectProxy extends AsyncDisposable {
  readonly port: number;
  /** The heads of the CONNECT requests that the proxy received. */
  readonly heads: string[];
}

/** A CONNECT proxy that always connects to 127.0.0.1, whatever address the client asks for. */
export async function startConnectProxy(tls?: {
  key: string;
  cert: string;
}): Promise<ConnectProxy> {
  const heads: string[] = [];
  const sockets = new Set<Socket>();
  const onConnection = (client: Socket) => {
    sockets.add(client);
    client.on('error', () => {});
    client.once('data', (chunk) => {
      heads.push(chunk.toString());
      const port = Number(/^CONNECT \S+:(\d+) /.exec(chunk.toString())?.[1]);
      const remote = connect(port, '127.0.0.1');
      sockets.add(remote);
      remote.on('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
      remote.on('connect', () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        client.pipe(remote).pipe(client);
      });
    });
  };
  const server = tls ? createTlsServer(tls, onConnection) : createServer(onConnection);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    heads,
    port: portOf(server),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
