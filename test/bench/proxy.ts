/**
 * A Fastify reverse proxy that does nothing but add one header. The benchmarks compare the gateway
 * with this proxy. It prints its port.
 */
import Fastify from 'fastify';
import { Pool } from 'undici';
import type { AddressInfo } from 'node:net';

const upstream = new Pool(process.argv[2] ?? '', { connections: 128 });
const app = Fastify();

app.route({
  method: ['GET', 'POST'],
  url: '/*',
  async handler(request, reply) {
    const answer = await upstream.request({
      method: request.method as 'GET' | 'POST',
      path: request.url,
      headers: { authorization: 'Bearer CANARY-proxy', 'content-type': 'application/json' },
      body: request.body === undefined ? null : JSON.stringify(request.body),
    });
    reply.status(answer.statusCode).header('content-type', answer.headers['content-type']);
    return reply.send(answer.body);
  },
});
await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`port ${(app.server.address() as AddressInfo).port}\n`);
