import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { once } from 'node:events';

import { ConfigError } from '#config';

const connectionsMax = 100;

export interface HealthOptions {
  readonly port: number;
  /** The address to listen at; every address of the machine when it is left out. */
  readonly host?: string;
  /** The names of the checks that fail; undefined while the process starts. */
  readonly failingChecks: () => readonly string[] | undefined;
  /** The metrics in Prometheus's text format. Without it, `/metrics` is not found. */
  readonly renderMetrics?: (() => Promise<string>) | undefined;
}

/**
 * Serves `/health/live` and `/health/ready` to a supervisor and `/metrics` to Prometheus, on a
 * separate port. Any answer means that the process lives, since its event loop turns. Throws a
 * `ConfigError` when it cannot listen at the port.
 */
export async function serveHealth({
  port,
  host,
  failingChecks,
  renderMetrics,
}: HealthOptions): Promise<AsyncDisposable> {
  const server = createServer(
    { requestTimeout: 5_000, headersTimeout: 5_000 },
    (request, reply) => {
      if (request.url === '/metrics' && renderMetrics !== undefined) {
        void sendMetrics(reply, renderMetrics);
        return;
      }
      const { status, body } = answerTo(request.url, failingChecks);
      reply.writeHead(status, { 'content-type': 'application/json' });
      reply.end(JSON.stringify(body));
    },
  );
  server.maxConnections = connectionsMax;
  server.listen(port, host);
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

async function sendMetrics(
  reply: ServerResponse,
  renderMetrics: () => Promise<string>,
): Promise<void> {
  try {
    const text = await renderMetrics();
    reply.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text);
  } catch {
    reply.writeHead(500, { 'content-type': 'application/json' }).end('{"error":"internal"}');
  }
}

function answerTo(
  path: string | undefined,
  failingChecks: HealthOptions['failingChecks'],
): { status: number; body: object } {
  if (path === '/health/live') return { status: 200, body: { status: 'ok' } };
  if (path !== '/health/ready') return { status: 404, body: { error: 'not_found' } };
  const failingNames = failingChecks() ?? ['starting'];
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
