import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

export interface RecordingProxy extends Disposable {
  readonly port: number;
  /**
   * The port to which the proxy forwards connections; a test sets it before the first connection.
   */
  targetPort: number;
  /** Every byte of the gateway's answers, in order. */
  answers(): Buffer;
}

/** Forwards TCP unchanged, and records every byte of the gateway's answers without parsing them. */
export async function startRecordingProxy(): Promise<RecordingProxy> {
  const answeredChunks: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const gatewaySocket = connect(proxy.targetPort, '127.0.0.1');
    for (const socket of [client, gatewaySocket]) {
      sockets.add(socket);
      // A connection reset on one side closes the other side; bytes that were answered before the
      // reset stay recorded.
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        gatewaySocket.destroy();
      });
    }
    gatewaySocket.on('data', (chunk: Buffer) => answeredChunks.push(chunk));
    client.pipe(gatewaySocket);
    gatewaySocket.pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy: RecordingProxy = {
    port: (server.address() as AddressInfo).port,
    targetPort: 0,
    answers: () => Buffer.concat(answeredChunks),
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
  return proxy;
}
