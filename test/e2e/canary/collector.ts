import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Collector extends Disposable {
  readonly url: string;
  /** Every byte of telemetry, in the order it came. */
  telemetry(): Buffer;
}

/** Takes spans and metrics as an OTLP collector does, and keeps them as they came. */
export async function startCollector(): Promise<Collector> {
  const received: Buffer[] = [];
  const server = createServer((request, reply) => {
    request.on('data', (chunk: Buffer) => received.push(chunk));
    request.on('end', () => reply.setHeader('content-type', 'application/json').end('{}'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    telemetry: () => Buffer.concat(received),
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
