/**
 * The upstream of the benchmarks. Its argument is the delay of each answer in milliseconds; without
 * an argument, it answers at once. It prints its port.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const body = JSON.stringify({ id: '42', name: 'item', tags: ['a', 'b'], note: 'x'.repeat(200) });
const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };

const delayMs = Number(process.argv[2] ?? 0);
const server = createServer({ keepAliveTimeout: 60_000 }, (request, reply) => {
  request.resume();
  const sendAnswer = () =>
    reply.writeHead(request.method === 'POST' ? 201 : 200, headers).end(body);
  request.on('end', () => (delayMs === 0 ? sendAnswer() : setTimeout(sendAnswer, delayMs)));
});
server.listen(0, () => {
  process.stdout.write(`port ${(server.address() as AddressInfo).port}\n`);
});
