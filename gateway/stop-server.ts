import type { FastifyInstance } from 'fastify';

/** Measured: with this pause a rolling restart under load broke no request, without it some. */
const lameDuckMs = 1_000;
/** What is under way may take this long; then its connections are cut. */
const drainMsMax = 30_000;

/**
 * Stops serving without breaking a request: for a moment every answer says `Connection: close`,
 * so that clients move on by themselves; then nothing new is accepted and the rest finishes.
 */
export async function stopServer(app: FastifyInstance, stopping: AbortController): Promise<void> {
  stopping.abort();
  if ((await countConnections(app)) > 0) await delay(lameDuckMs);
  const cut = setTimeout(() => app.server.closeAllConnections(), drainMsMax);
  await app.close();
  clearTimeout(cut);
}

function countConnections(app: FastifyInstance): Promise<number> {
  return new Promise((resolve) => {
    app.server.getConnections((failure, count) => resolve(failure === null ? count : 0));
  });
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
