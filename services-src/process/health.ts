import { createServer } from 'node:http';
import { once } from 'node:events';

import { ConfigError } from '#config';
import type { Readiness } from '../readiness/readiness.ts';

/**
 * Serves `/health/live` and `/health/ready` to a supervisor, on a separate port. Any answer means
 * that the process lives, since its event loop turns. `readiness` is undefined while the component
 * starts.
 */
export async function serveHealth(
  port: number,
  readiness: () => Pick<Readiness, 'failing'> | undefined,
): Promise<AsyncDisposable> {
  const server = createServer(
    { requestTimeout: 5_000, headersTimeout: 5_000 },
    (request, reply) => {
      const { status, body } = answerTo(request.url, readiness);
      reply.writeHead(status, { 'content-type': 'application/json' });
      reply.end(JSON.stringify(body));
    },
  );
  server.listen(port);
  await once(server, 'listening').catch((error: unknown) => {
    throw explainListenError(error, port);
  });
  return {
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}

function answerTo(
  path: string | undefined,
  readiness: () => Pick<Readiness, 'failing'> | undefined,
): { status: number; body: object } {
  if (path === '/health/live') return { status: 200, body: { status: 'ok' } };
  if (path !== '/health/ready') return { status: 404, body: { error: 'not_found' } };
  const failingNames = readiness()?.failing() ?? ['starting'];
  if (failingNames.length === 0) return { status: 200, body: { status: 'ok' } };
  return { status: 503, body: { status: 'unavailable', failing: failingNames } };
}

function explainListenError(error: unknown, port: number): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return new ConfigError(`HEALTH_PORT ${port} is taken by another program; choose another.`);
  }
  if (code === 'EACCES') return new ConfigError(`HEALTH_PORT ${port} is not allowed (EACCES).`);
  return error;
}
