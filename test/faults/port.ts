import { once } from 'node:events';
import { createServer } from 'node:net';

const taken = new Set<number>();
/** Below the ports that the system gives to outgoing connections, which would take one whose owner is away. */
const lowest = 15_000;
const highest = 32_000;

/** A loopback port for somebody who leaves it and comes back. */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest));
    if (!taken.has(port) && (await isFree(port))) {
      taken.add(port);
      return port;
    }
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
