import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';

const takenPorts = new Set<number>();
/**
 * The lowest port to use. For outgoing connections and for servers that listen on any port, the
 * system chooses ports from a higher range. So it never gives away the port of a server that has
 * not started yet or is stopped.
 */
const lowestPort = 15_000;
const highestPort = 32_000;

/**
 * Finds a free loopback port for a server that starts later, or that is stopped and started again.
 */
export async function findLastingPort(): Promise<number> {
  for (;;) {
    const port = lowestPort + Math.floor(Math.random() * (highestPort - lowestPort));
    if (!takenPorts.has(port) && (await isFree(port))) {
      takenPorts.add(port);
      return port;
    }
  }
}

/**
 * The port that a data directory keeps under a name, so that a server is found at the same address
 * after a restart. When the port is in use, another one replaces it.
 */
export async function keepPort(dataDir: string, name: string): Promise<number> {
  const path = join(dataDir, name);
  const keptPort = Number(await readFile(path, 'utf8').catch(() => ''));
  const isUsable = keptPort >= lowestPort && keptPort < highestPort && (await isFree(keptPort));
  if (isUsable) return keptPort;
  const port = await findLastingPort();
  await writeFile(path, String(port));
  return port;
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
