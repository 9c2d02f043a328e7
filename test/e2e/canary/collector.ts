import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Collector extends Disposable {
  readonly url: string;
  /** Every byte of telemetry received, in order. */
  telemetry(): Buffer;
}

/** Starts a collector of OpenTelemetry spans and metrics that keeps the raw bytes. */
export async function startCollector(): Promise<Collector> {
  const receivedChunks: Buffer[] = [];
  const server = createServer((request, reply) => {
    request.on('data', (chunk: Buffer) => receivedChunks.push(chunk));
    request.on('end', () => reply.setHeader('content-type', 'application/json').end('{}'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    telemetry: () => Buffer.concat(receivedChunks),
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
