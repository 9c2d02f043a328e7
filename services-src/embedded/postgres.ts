import { open, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { limitRepeats } from '../telemetry/limit-repeats.ts';
import { lockDataDir } from './data-dir-lock.ts';
import { findPostgresBinaries } from './postgres-binaries.ts';
import { inheritedDataPath, postgresEnv, superuser } from './postgres-cluster.ts';
import { askPostgres } from './postgres-client.ts';
import { checkCanCreateCluster, chooseServerUser, openCluster } from './postgres-cluster.ts';
import { openSocketDir } from './postgres-socket.ts';
import { startAlone } from './postgres-takeover.ts';
import type { EmbeddedLogger, ServerProcess, StopSteps } from './server-process.ts';
import { startWatched } from './watch-server.ts';

export interface StartPostgresOptions {
  /** The data folder of the installation; the cluster is in its subfolder `postgres`. */
  readonly dataDir: string;
  readonly logger: EmbeddedLogger;
  /** False is for tests: the server is faster, but can lose data in a power failure. */
  readonly durable?: boolean;
  readonly maxConnections?: number;
  /** For tests: further settings of the server, each `name=value`, which take precedence. */
  readonly settings?: readonly string[];
  /** Starts the server again when it ends or does not answer any more. */
  readonly isWatched?: boolean;
}

export interface EmbeddedPostgres extends AsyncDisposable {
  /** The URL of the superuser, for the database `postgres`. */
  readonly adminUrl: string;
  readonly pid: number;
  /**
   * Resolves with an error message when Postgres has ended unexpectedly. When the server is
   * watched, it resolves only once starting it again does not help.
   */
  readonly exited: Promise<string>;
  urlFor(options: { user: string; password: string; database?: string }): string;
}

/**
 * SIGINT ends sessions and writes a checkpoint; SIGQUIT stops at once and leaves recovery to the
 * next start.
 */
const ownStopSteps: StopSteps = [
  { signal: 'SIGINT', waitMs: 4_000 },
  { signal: 'SIGQUIT', waitMs: 1_000 },
];
/**
 * Recovery after a crash reads at most `max_wal_size`, which can still take long on a slow disk.
 */
const startTimeoutMs = 120_000;

/**
 * Throws an `EmbeddedError` if `startPostgres` could not create its data. Creates nothing itself.
 */
export function checkCanStartPostgres({
  dataDir,
  logger,
}: Pick<StartPostgresOptions, 'dataDir' | 'logger'>): Promise<void> {
  return checkCanCreateCluster(join(resolve(dataDir), 'postgres'), () =>
    findPostgresBinaries(undefined, logger),
  );
}

/**
 * Starts Postgres on a Unix socket, with its data below `dataDir`. First stops a server that an
 * earlier, killed start has left running in that folder.
 */
export async function startPostgres(options: StartPostgresOptions): Promise<EmbeddedPostgres> {
  const { durable = true, maxConnections = 60, isWatched = false, settings = [] } = options;
  const logger = limitRepeats(options.logger);
  const home = join(resolve(options.dataDir), 'postgres');
  await using startup = new AsyncDisposableStack();
  startup.use(await lockDataDir(home));
  const user = await chooseServerUser(home);
  const binaries = await findPostgresBinaries(user, logger);
  const { dataPath, password } = await openCluster({ home, binaries, user, durable });
  // `data` may be a link to a folder that another installation uses too.
  startup.use(await lockDataDir(dataPath));
  const socketDir = startup.use(await openSocketDir(home, user));

  const startOnce = async (signal?: AbortSignal): Promise<ServerProcess> => {
    await removeSockets(socketDir.path);
    await using dataFolder = await open(dataPath);
    await using socketFolder = await open(socketDir.path);
    const args = [
      '-D',
      inheritedDataPath,
      '-c',
      'unix_socket_directories=/proc/self/fd/4',
      ...[...listSettings({ durable, maxConnections }), ...settings].flatMap((setting) => [
        '-c',
        setting,
      ]),
    ];
    const command = {
      name: 'Postgres',
      command: join(binaries.binDir, 'postgres'),
      args,
      env: postgresEnv,
      user,
      inherit: [dataFolder.fd, socketFolder.fd],
      readyTimeoutMs: startTimeoutMs,
      stopSteps: ownStopSteps,
      signal,
      onLine: createOnLogLine(logger),
    };
    const server = await startAlone(dataPath, command, logger);
    logger.info({ pid: server.pid, dataPath }, 'postgres started');
    return server;
  };
  const urlFor = createUrlFor(socketDir.path);
  const adminUrl = urlFor({ user: superuser, password });
  const server = isWatched
    ? await startWatched({
        name: 'Postgres',
        dataPath,
        logger,
        start: startOnce,
        ask: (timeoutMs) => askPostgres(adminUrl, timeoutMs),
      })
    : await startOnce();
  startup.defer(() => server.stop());

  const runningResources = startup.move();
  return {
    adminUrl,
    get pid() {
      return server.pid;
    },
    exited: server.exited,
    urlFor,
    [Symbol.asyncDispose]: () => runningResources.disposeAsync(),
  };
}

/**
 * Removes the socket that a killed server left. Postgres would refuse to start if the pid in its
 * lock file now belonged to another process.
 */
async function removeSockets(socketDir: string): Promise<void> {
  for (const name of await readdir(socketDir)) await rm(join(socketDir, name), { force: true });
}

/**
 * Makes a libpq URI: its parameter `host` names the folder of the socket and overrides the host
 * name. The library `pg` understands that; the driver `postgres` must get the folder as an option.
 */
export function createUrlFor(socketDir: string): EmbeddedPostgres['urlFor'] {
  return ({ user, password, database = 'postgres' }) => {
    const [name, secret, db, host] = [user, password, database, socketDir].map(encodeURIComponent);
    return `postgres://${name}:${secret}@localhost/${db}?host=${host}`;
  };
}

/**
 * The settings of Postgres. They are small, because they serve one gateway on a laptop whose rows
 * fit into the page cache.
 */
function listSettings({ durable, maxConnections }: { durable: boolean; maxConnections: number }) {
  return [
    'listen_addresses=',
    'unix_socket_permissions=0700',
    `max_connections=${maxConnections}`,
    'shared_buffers=12MB',
    'work_mem=4MB',
    'maintenance_work_mem=16MB',
    'max_wal_size=256MB',
    'min_wal_size=32MB',
    // No replication and no parallel queries: their helper processes cost memory all the time.
    'wal_level=minimal',
    'max_wal_senders=0',
    'max_logical_replication_workers=0',
    'max_parallel_workers_per_gather=0',
    'autovacuum_max_workers=2',
    'io_method=sync',
    'jit=off',
    'timezone=UTC',
    'log_checkpoints=off',
    // The component that sent a failing statement logs it; Postgres does not log it again.
    'log_min_error_statement=panic',
    ...(durable ? [] : ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']),
  ];
}

/**
 * Logs what Postgres warns of, and returns true for the line that says that it is ready. While it
 * is being stopped, it reports each connection that it ends as fatal; such lines are not logged.
 */
function createOnLogLine(logger: EmbeddedLogger): (line: string) => boolean {
  let isStopping = false;
  return (line) => {
    const [, level, message] = /\b(LOG|WARNING|FATAL|PANIC): {2}(.*)/.exec(line) ?? [];
    if (level === 'LOG' && /^received \w+ shutdown request$/.test(message ?? '')) isStopping = true;
    if (level === 'PANIC') logger.error({ message }, 'postgres panics');
    const isWarning = level === 'WARNING' || (level === 'FATAL' && !isStopping);
    if (isWarning) logger.warn({ message }, 'postgres warns');
    return level === 'LOG' && message === 'database system is ready to accept connections';
  };
}
