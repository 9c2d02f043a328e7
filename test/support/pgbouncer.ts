import { chown, mkdtemp, open, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { lastingPort } from '../../services-src/embedded/index.ts';
import { startServerProcess } from '../../services-src/embedded/server-process.ts';
import { programEnv } from './program-env.ts';

export interface Pgbouncer extends AsyncDisposable {
  urlFor(user: string): string;
}

/**
 * Starts PgBouncer on loopback, in front of the database of a URL. It uses transaction mode, with
 * two database sessions for each user.
 */
export async function startPgbouncer({
  databaseUrl,
  passwords,
}: {
  databaseUrl: string;
  /** The password of each user. */
  passwords: Readonly<Record<string, string>>;
}): Promise<Pgbouncer> {
  await using startup = new AsyncDisposableStack();
  const socketDir = new URL(databaseUrl).searchParams.get('host') ?? '';
  const database = new URL(databaseUrl).pathname.slice(1);
  const folder = await mkdtemp(join(tmpdir(), 'aag-pgbouncer-'));
  startup.defer(() => rm(folder, { recursive: true }));
  const port = await lastingPort();
  const usersPath = join(folder, 'users.txt');
  const users = Object.entries(passwords).map(([user, password]) => `"${user}" "${password}"\n`);
  await writeFile(usersPath, users.join(''));
  const configPath = join(folder, 'pgbouncer.ini');
  await writeFile(
    configPath,
    `[databases]
${database} = host=/proc/self/fd/3 port=5432

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${usersPath}
pool_mode = transaction
default_pool_size = 2
max_client_conn = 200
`,
  );
  // PgBouncer does not run as root, but as the user of Postgres. That user may enter the folder of
  // the socket, but not the folder above. So PgBouncer gets the socket's folder as an open file.
  await using socketFolder = await open(socketDir);
  const { uid, gid } = await stat(socketDir);
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) for (const path of [folder, usersPath, configPath]) await chown(path, uid, gid);
  const server = await startServerProcess({
    name: 'PgBouncer',
    command: 'pgbouncer',
    args: [configPath],
    env: { PATH: programEnv['PATH'] ?? '' },
    user: isRoot ? { uid, gid } : undefined,
    inherit: [socketFolder.fd],
    readyTimeoutMs: 30_000,
    stopSteps: [{ signal: 'SIGTERM', waitMs: 2_000 }],
    onLine: (line) => line.includes('process up'),
  });
  startup.defer(() => server.stop());
  const running = startup.move();
  return {
    urlFor: (user) => `postgres://${user}:${passwords[user]}@127.0.0.1:${port}/${database}`,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
