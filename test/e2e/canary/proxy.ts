import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

export interface RecordingProxy extends Disposable {
  readonly port: number;
  /** Where connections are passed on to; set before the first one comes. */
  target: number;
  /** Every byte that came back, in the order it came. */
  answers(): Buffer;
}

/** Passes TCP on as it is and keeps what the gateway answered: nothing parsed, nothing lost. */
export async function startRecordingProxy(): Promise<RecordingProxy> {
  const answered: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const gateway = connect(proxy.target, '127.0.0.1');
    for (const socket of [client, gateway]) {
      sockets.add(socket);
      // A reset on one side ends the other; what was answered until then is kept.
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        gateway.destroy();
      });
    }
    gateway.on('data', (chunk: Buffer) => answered.push(chunk));
    client.pipe(gateway);
    gateway.pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy: RecordingProxy = {
    port: (server.address() as AddressInfo).port,
    target: 0,
    answers: () => Buffer.concat(answered),
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
  return proxy;
}
