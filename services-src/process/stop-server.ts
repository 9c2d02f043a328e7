import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { Socket } from 'node:net';

interface StopOptions {
  /**
   * How long the server still accepts connections, so that load balancers notice that it is not
   * ready.
   */
  readonly pauseMs: number;
  /** Ends long answers, such as streams of events. Called after the pause of `pauseMs`. */
  readonly endStreams?: () => void;
}

/** Requests under way may take this long to finish; then their connections are closed. */
const drainMsMax = 30_000;
/** How long the server waits for the first request on a connection that was opened. */
const firstRequestMs = 1_000;
/**
 * When no connection has come for this long, new connections are assumed to have stopped arriving.
 */
const quietMs = 100;
const quietMsMax = 1_000;
/**
 * The most turns of the event loop to wait for; Node takes one connection from the kernel's queue
 * in each.
 */
const turnsMax = 10_000;
const pollMs = 20;

/**
 * Returns a function that stops an HTTP server without breaking a request. First, every answer says
 * `Connection: close`, so that clients open a new connection for their next request, which then
 * reaches another replica. After the pause, the server accepts no more connections. It still serves
 * those that it or the kernel had accepted, even if their first request arrives only now.
 */
export function prepareStop(
  server: Server,
  { pauseMs, endStreams }: StopOptions,
): () => Promise<void> {
  const runningReplies = new Set<ServerResponse>();
  /** The connections without a request so far, with the time at which each was opened. */
  const idleSockets = new Map<Socket, number>();
  let lastConnectedAt = -Infinity;
  let connectionsCount = 0;
  let isLeaving = false;
  server.on('connection', (socket: Socket) => {
    lastConnectedAt = performance.now();
    connectionsCount += 1;
    idleSockets.set(socket, lastConnectedAt);
    socket.once('close', () => idleSockets.delete(socket));
  });
  server.prependListener('request', ({ socket }: IncomingMessage, reply: ServerResponse) => {
    idleSockets.delete(socket);
    runningReplies.add(reply);
    reply.once('close', () => runningReplies.delete(reply));
    if (isLeaving) reply.shouldKeepAlive = false;
  });
  const isExpectingRequest = () =>
    [...idleSockets.values()].some((openedAt) => performance.now() - openedAt < firstRequestMs);

  return async () => {
    isLeaving = true;
    for (const reply of runningReplies) reply.shouldKeepAlive = false;
    await delay(pauseMs);
    endStreams?.();

    const quietSince = performance.now();
    await waitUntil(
      () => performance.now() - Math.max(lastConnectedAt, quietSince) > quietMs,
      quietMsMax,
    );
    await waitUntilNoneIsNew(() => connectionsCount);
    const listeningEnded = stopListening(server);
    await waitUntil(() => runningReplies.size === 0 && !isExpectingRequest(), drainMsMax);
    server.closeAllConnections();
    await listeningEnded;
  };
}

/**
 * Stops listening. (`close` of an HTTP server would also end idle connections, on which a request
 * may just be arriving.)
 */
function stopListening(server: Server): Promise<void> {
  return new Promise((resolve) => {
    // `setImmediate` runs right after the phase in which Node takes connections from the kernel, so
    // none is left waiting there.
    setImmediate(() => void NetServer.prototype.close.call(server, () => resolve()));
  });
}

/** Resolves after a turn of the event loop in which no connection came: the kernel's queue is empty. */
async function waitUntilNoneIsNew(countConnections: () => number): Promise<void> {
  for (let turn = 0; turn < turnsMax; turn += 1) {
    const countBefore = countConnections();
    await waitForNextTurn();
    if (countConnections() === countBefore) return;
  }
}

/** Resolves after the event loop has once looked for new connections. */
function waitForNextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function waitUntil(isTrue: () => boolean, msMax: number): Promise<void> {
  const endsAt = performance.now() + msMax;
  while (!isTrue() && performance.now() < endsAt) await delay(pollMs);
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
