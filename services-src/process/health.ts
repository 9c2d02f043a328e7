import { createServer } from 'node:http';
import { once } from 'node:events';

/**
 * `/health/live` and `/health/ready` for a supervisor, on a port of their own. A component
 * that cannot go on stops instead of reporting it, so to answer at all is to be alive and ready.
 */
export async function serveHealth(port: number): Promise<AsyncDisposable> {
  const server = createServer(
    { requestTimeout: 5_000, headersTimeout: 5_000 },
    (request, reply) => {
      const known = request.url === '/health/live' || request.url === '/health/ready';
      reply.writeHead(known ? 200 : 404, { 'content-type': 'application/json' });
      reply.end(known ? '{"status":"ok"}' : '{"error":"not_found"}');
    },
  );
  server.listen(port);
  await once(server, 'listening');
  return {
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}
