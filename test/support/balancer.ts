import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { isReady } from './component-process.ts';

export interface Backend {
  readonly port: number;
  /**
   * The port that answers `/health/ready`. A backend without a health port always counts as ready.
   */
  readonly healthPort?: number;
}

export interface Balancer extends AsyncDisposable {
  readonly url: string;
  /** Resolves after the first health check. */
  add(backend: Backend): Promise<void>;
  /** Sends no new connections to the backend. Its open connections stay open. */
  remove(backend: Backend): void;
}

const checkEveryMs = 200;

/**
 * A simple round-robin TCP load balancer on a loopback port. It passes new connections to the
 * backends that were ready at the last health check. If a backend refuses a connection, the
 * balancer tries the next backend.
 */
export async function startBalancer(): Promise<Balancer> {
  /** Every backend, and whether it is ready. */
  const backends = new Map<Backend, boolean>();
  let turnCount = 0;
  const sockets = new Set<Socket>();
  const server = createServer({ pauseOnConnect: true }, (client) => {
    sockets.add(client);
    client.on('error', () => undefined).once('close', () => sockets.delete(client));
    const readyBackends = [...backends.keys()].filter((backend) => backends.get(backend));
    turnCount += 1;
    connectToBackend(
      client,
      readyBackends.map(
        (_, index) => readyBackends[(index + turnCount) % readyBackends.length] as Backend,
      ),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  const checkBackend = async (backend: Backend) => {
    const isBackendReady = backend.healthPort === undefined || (await isReady(backend.healthPort));
    if (backends.has(backend)) backends.set(backend, isBackendReady);
  };
  const ending = new AbortController();
  const checkLoop = (async () => {
    while (!ending.signal.aborted) {
      await sleep(checkEveryMs);
      await Promise.all([...backends.keys()].map(checkBackend));
    }
  })();
  return {
    url: `http://127.0.0.1:${port}`,
    async add(backend) {
      backends.set(backend, false);
      await checkBackend(backend);
    },
    remove: (backend) => void backends.delete(backend),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await checkLoop;
      const serverClosed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await serverClosed;
    },
  };
}

function connectToBackend(client: Socket, [backend, ...others]: readonly Backend[]): void {
  if (backend === undefined) {
    client.destroy();
    return;
  }
  const upstream = connect(backend.port, '127.0.0.1');
  const tryNext = () => connectToBackend(client, others);
  upstream.once('error', tryNext);
  upstream.once('connect', () => {
    upstream.off('error', tryNext);
    // An error of the backend's connection resets the client's connection, so that the client
    // notices the error.
    upstream.on('error', () => client.resetAndDestroy());
    upstream.once('close', () => client.end());
    client.once('close', () => upstream.destroy());
    client.pipe(upstream);
    upstream.pipe(client);
  });
}
