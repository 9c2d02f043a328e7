import type { IncomingMessage, ServerResponse } from 'node:http';

import type { FastifyInstance } from 'fastify';

/** Measured: with this pause a rolling restart under load broke no request, without it some. */
const lameDuckMs = 1_000;
/** What is under way may take this long; then its connections are cut. */
const drainMsMax = 30_000;
const pollMs = 20;

/**
 * Prepares the stop of a server without breaking a request: for a moment every answer says
 * `Connection: close`, so that clients move on by themselves; then nothing new is accepted and
 * what is under way finishes. A connection on which nothing is asked (browsers open some in
 * advance) is no reason to wait: the server's own close would wait for it.
 */
export function prepareStop(app: FastifyInstance, stopping: AbortController): () => Promise<void> {
  let underWay = 0;
  app.server.on('request', (_request: IncomingMessage, reply: ServerResponse) => {
    underWay += 1;
    reply.once('close', () => (underWay -= 1));
  });
  return async () => {
    stopping.abort();
    if ((await countConnections(app)) > 0) await delay(lameDuckMs);
    const closed = app.close();
    const until = performance.now() + drainMsMax;
    while (underWay > 0 && performance.now() < until) await delay(pollMs);
    app.server.closeAllConnections();
    await closed;
  };
}

function countConnections(app: FastifyInstance): Promise<number> {
  return new Promise((resolve) => {
    app.server.getConnections((failure, count) => resolve(failure === null ? count : 0));
  });
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
