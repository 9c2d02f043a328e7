import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { programEnv } from './program-env.ts';
import { pollUntil } from './world.ts';

/**
 * Starts HAProxy on loopback with `deploy/haproxy.cfg`. Only the servers and the listening address
 * are replaced: the host name `gateway` exists only in compose.
 */
export async function startHaproxy({
  port,
  servers,
}: {
  port: number;
  /** `host:port` of each gateway. */
  servers: readonly string[];
}): Promise<AsyncDisposable> {
  const text = await readFile(new URL('../../deploy/haproxy.cfg', import.meta.url), 'utf8');
  const template = /^ {2}server-template gateway \d+ "gateway:\$\{PORT\}"$/m;
  const listener = '  bind ":${PORT}"';
  if (!template.test(text) || !text.includes(listener)) {
    throw new Error('deploy/haproxy.cfg lacks the lines that this replaces');
  }
  const lines = servers.map((address, index) => `  server gateway${index} ${address}`).join('\n');
  const folder = await mkdtemp(join(tmpdir(), 'aag-haproxy-'));
  const path = join(folder, 'haproxy.cfg');
  await writeFile(
    path,
    text.replace(template, () => lines).replace(listener, () => `  bind "127.0.0.1:\${PORT}"`),
  );
  const child = spawn('haproxy', ['-f', path], {
    env: { PATH: programEnv['PATH'], PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const end = once(child, 'exit');
  await pollUntil(async () => {
    if (child.exitCode !== null) throw new Error('HAProxy has ended');
    return isListening(port);
  }, 'HAProxy listens');
  return {
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await end;
      await rm(folder, { recursive: true });
    },
  };
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return once(socket, 'connect')
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy());
}
