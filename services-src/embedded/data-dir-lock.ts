import { once } from 'node:events';
import { mkdir, stat } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { Server } from 'node:net';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

import { EmbeddedError } from './embedded-error.ts';

const answerTimeoutMs = 1_000;
const pollMs = 50;

/**
 * Makes this process the only user of a data folder (created if missing) until disposed.
 *
 * The lock is a socket in Linux's abstract namespace, named after the folder's device and inode:
 * taking it is one atomic system call, the kernel releases it however the process dies, and the
 * folder can be renamed meanwhile. A lock file would need a race-free takeover after SIGKILL, which
 * plain files do not offer. The owner of the lock answers connections with its pid, which goes into
 * the error of a refused process.
 *
 * A process waits for the lock for a short time, because an owner that is being stopped needs a
 * moment to release it.
 *
 * The lock is valid within one network namespace: two containers that share a volume do not see
 * each other's locks.
 */
export async function lockDataDir(
  dataDir: string,
  { waitMs = 3_000 }: { waitMs?: number } = {},
): Promise<AsyncDisposable> {
  await makeDir(dataDir);
  const { dev, ino } = await stat(dataDir);
  const address = `\0agent-action-gateway:${dev}:${ino}`;

  const waitEndsAtMs = performance.now() + waitMs;
  let server = await listen(address);
  while (!server && performance.now() < waitEndsAtMs) {
    await sleep(pollMs);
    server = await listen(address);
  }
  if (!server) {
    const owner = await askOwner(address);
    throw new EmbeddedError(
      `${resolve(dataDir)} is in use by ${owner}. Stop it first, or choose another DATA_DIR.`,
    );
  }
  // The socket of the lock does not keep the process running.
  server.unref();
  const heldServer = server;
  return { [Symbol.asyncDispose]: () => closeServer(heldServer) };
}

async function makeDir(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new EmbeddedError(
      `${resolve(path)} cannot be made (${reason}). Choose another DATA_DIR.`,
      {
        cause,
      },
    );
  }
}

/** Takes the lock's address; returns undefined if another process holds it. */
async function listen(address: string): Promise<Server | undefined> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy()); // The process that asked for the pid has ended.
    socket.end(String(process.pid));
  });
  try {
    server.listen(address);
    await once(server, 'listening');
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return undefined;
  }
}

async function askOwner(address: string): Promise<string> {
  const socket = connect(address);
  socket.setTimeout(answerTimeoutMs, () => socket.destroy(new Error('no answer')));
  try {
    return `process ${Number(await text(socket))}`;
  } catch {
    // A stopped or busy owner does not answer, but it still holds the lock.
    return 'another process';
  }
}

async function closeServer(server: Server): Promise<void> {
  if (!server.listening) return;
  server.close();
  await once(server, 'close');
}
