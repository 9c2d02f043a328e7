/** The upstream: answers at once. Prints its port. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const body = JSON.stringify({ id: '42', name: 'item', tags: ['a', 'b'], note: 'x'.repeat(200) });
const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };

const server = createServer({ keepAliveTimeout: 60_000 }, (request, reply) => {
  request.resume();
  request.on('end', () =>
    reply.writeHead(request.method === 'POST' ? 201 : 200, headers).end(body),
  );
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`port ${(server.address() as AddressInfo).port}\n`);
});
