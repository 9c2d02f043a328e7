import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

/** One request as the upstream received it. */
export interface ReceivedRequest {
  readonly head: string;
  readonly body: string;
}

export interface RawUpstream extends AsyncDisposable {
  readonly port: number;
  readonly received: ReceivedRequest[];
  readonly connections: () => number;
}

export interface RawUpstreamOptions {
  readonly host?: string;
  readonly tls?: { key: string; cert: string };
  /** Answers one request by writing any bytes, well-formed or not. */
  readonly answer?: (socket: Socket, request: ReceivedRequest) => void;
}

/**
 * Starts an upstream that reads requests and writes the bytes that the test gives as its answers.
 */
export async function startRawUpstream(options: RawUpstreamOptions = {}): Promise<RawUpstream> {
  const received: ReceivedRequest[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const onConnection = (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
    let pending = '';
    socket.on('data', (chunk) => {
      pending += chunk.toString('latin1');
      for (;;) {
        const headEnd = pending.indexOf('\r\n\r\n') + 4;
        if (headEnd < 4) return;
        const head = pending.slice(0, headEnd);
        const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
        if (pending.length < headEnd + length) return;
        const request = { head, body: pending.slice(headEnd, headEnd + length) };
        pending = pending.slice(headEnd + length);
        received.push(request);
        options.answer?.(socket, request);
      }
    });
  };
  const server: Server = options.tls
    ? createTlsServer(options.tls, onConnection)
    : createServer(onConnection);
  server.on('tlsClientError', () => {});
  server.listen(0, options.host ?? '127.0.0.1');
  await once(server, 'listening');
  return {
    port: portOf(server),
    received,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return address.port;
}

/** Writes a complete answer with a Content-Length. */
export function answerOk(socket: Socket, body = 'ok', headers = ''): void {
  socket.write(
    `HTTP/1.1 200 OK\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
