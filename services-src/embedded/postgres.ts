import { open } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { lockDataDir } from './data-dir-lock.ts';
import { findPostgresBinaries } from './postgres-binaries.ts';
import { inheritedData, postgresEnv, superuser } from './postgres-cluster.ts';
import { chooseServerUser, openCluster } from './postgres-cluster.ts';
import { openSocketDir } from './postgres-socket.ts';
import { startAlone } from './postgres-takeover.ts';
import type { EmbeddedLogger, StopSteps } from './server-process.ts';

export interface StartPostgresOptions {
  /** The cluster is in its subfolder `postgres`. */
  readonly dataDir: string;
  readonly logger: EmbeddedLogger;
  /** False gives up safety against power failure for speed; for tests. */
  readonly durable?: boolean;
  readonly maxConnections?: number;
}

export interface EmbeddedPostgres extends AsyncDisposable {
  /** As superuser, for the database `postgres`. */
  readonly adminUrl: string;
  readonly pid: number;
  /** Settles, with a sentence, only if Postgres ends without having been asked to. */
  readonly exited: Promise<string>;
  urlFor(options: { user: string; password: string; database?: string }): string;
}

/** SIGINT ends sessions and writes a checkpoint; SIGQUIT leaves the work to recovery. */
const ownStopSteps: StopSteps = [
  { signal: 'SIGINT', waitMs: 15_000 },
  { signal: 'SIGQUIT', waitMs: 5_000 },
];
/** Recovery after a crash reads at most `max_wal_size`; slow disks take their time even so. */
const startTimeoutMs = 120_000;

/**
 * Starts Postgres on a Unix socket, with its data below `dataDir`, and stops what an
 * earlier start that was killed has left running there.
 */
export async function startPostgres(options: StartPostgresOptions): Promise<EmbeddedPostgres> {
  const { logger, durable = true, maxConnections = 60 } = options;
  const home = join(resolve(options.dataDir), 'postgres');
  await using startup = new AsyncDisposableStack();
  startup.use(await lockDataDir(home));
  const user = await chooseServerUser(home);
  const binaries = await findPostgresBinaries(user, logger);
  const { dataPath, password } = await openCluster({ home, binaries, user, durable });
  const socketDir = startup.use(await openSocketDir(home, user));

  await using dataFolder = await open(dataPath);
  await using socketFolder = await open(socketDir.path);
  const server = await startAlone(
    dataPath,
    {
      name: 'Postgres',
      command: join(binaries.binDir, 'postgres'),
      args: [
        '-D',
        inheritedData,
        '-c',
        'unix_socket_directories=/proc/self/fd/4',
        ...settings({ durable, maxConnections }).flatMap((setting) => ['-c', setting]),
      ],
      env: postgresEnv,
      user,
      inherit: [dataFolder.fd, socketFolder.fd],
      readyTimeoutMs: startTimeoutMs,
      stopSteps: ownStopSteps,
      onLine: (line) => onLogLine(line, logger),
    },
    logger,
  );
  startup.defer(() => server.stop());
  logger.info({ pid: server.pid, dataPath }, 'postgres started');

  const running = startup.move();
  const urlFor = createUrlFor(socketDir.path);
  return {
    adminUrl: urlFor({ user: superuser, password }),
    pid: server.pid,
    exited: server.exited,
    urlFor,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/**
 * The form of libpq's URIs: the folder of the socket is the parameter `host`, which wins
 * over the host name. `pg` understands it; `postgres` must be given it as an option.
 */
export function createUrlFor(socketDir: string): EmbeddedPostgres['urlFor'] {
  return ({ user, password, database = 'postgres' }) => {
    const [name, secret, db, host] = [user, password, database, socketDir].map(encodeURIComponent);
    return `postgres://${name}:${secret}@localhost/${db}?host=${host}`;
  };
}

/** Small on purpose: one gateway, whose rows fit the page cache, on a laptop's memory. */
function settings({ durable, maxConnections }: { durable: boolean; maxConnections: number }) {
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
    // Error texts with their statements belong to the component that sent the statement.
    'log_min_error_statement=panic',
    ...(durable ? [] : ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']),
  ];
}

function onLogLine(line: string, logger: EmbeddedLogger): boolean {
  const [, level, message] = /\b(LOG|WARNING|FATAL|PANIC): {2}(.*)/.exec(line) ?? [];
  if (level === 'PANIC') logger.error({ message }, 'postgres panics');
  if (level === 'FATAL' || level === 'WARNING') logger.warn({ message }, 'postgres warns');
  return level === 'LOG' && message === 'database system is ready to accept connections';
}
