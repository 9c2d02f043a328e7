import { realpath, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';

import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';

import { limitRepeats } from '../telemetry/limit-repeats.ts';
import { lockDataDir } from './data-dir-lock.ts';
import { findNatsServer } from './nats-binary.ts';
import { findLastingPort } from './lasting-port.ts';
import { renderNatsConfig } from './nats-config.ts';
import { findProcesses, readCommandLine, readWorkingDirectory, stopOrphan } from './orphan.ts';
import { startServerProcess } from './server-process.ts';
import type { EmbeddedLogger, ServerProcess, StopSteps } from './server-process.ts';
import { startWatched } from './watch-server.ts';

export interface StartNatsOptions {
  /** The data folder of the installation; streams are stored in its subfolder `nats`. */
  readonly dataDir: string;
  /** Accounts, users and their permissions, in the server's own notation. */
  readonly config: string;
  readonly logger: EmbeddedLogger;
  /** The port to listen on; by default a free port is chosen. */
  readonly port?: number;
  /** The limit of the sizes of all streams together, in bytes; 10 GiB by default. */
  readonly storeBytesMax?: number;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /**
   * Starts the server again when it has ended, or when it no longer answers this user, whose
   * account must have JetStream.
   */
  readonly watchAs?: NatsLogin;
}

export interface NatsLogin {
  readonly user: string;
  readonly password: string;
}

export interface EmbeddedNats extends AsyncDisposable {
  /** The URL without credentials, which are in the config. */
  readonly url: string;
  readonly pid: number;
  /**
   * Resolves with an error message when NATS has ended unexpectedly. When the server is watched, it
   * resolves only once starting it again does not help.
   */
  readonly exited: Promise<string>;
}

const ownStopSteps: StopSteps = [{ signal: 'SIGTERM', waitMs: 3_000 }];
const startTimeoutMs = 30_000;
const storeDir = 'jetstream';

/**
 * Starts NATS with JetStream on a loopback port, with its streams below `dataDir`. First stops a
 * server that an earlier, killed start has left running in that folder.
 */
export async function startNats(options: StartNatsOptions): Promise<EmbeddedNats> {
  const { config, watchAs, environment = process.env } = options;
  const logger = limitRepeats(options.logger);
  // A watched server is started again on the same port, which must not be taken meanwhile.
  const port = options.port ?? (watchAs === undefined ? -1 : await findLastingPort());
  const { storeBytesMax = 10 * 1024 ** 3 } = options;
  const home = join(resolve(options.dataDir), 'nats');
  await using startup = new AsyncDisposableStack();
  startup.use(await lockDataDir(home));
  // The folder may be a link to one that another installation uses too.
  startup.use(await lockDataDir(join(home, storeDir)));
  const command = await findNatsServer({ environment, logger });
  const configText = renderServerConfig(port, config, storeBytesMax);
  // The file can be read only by its owner, because it contains passwords.
  await writeFile(join(home, 'nats.conf'), configText, { mode: 0o600 });

  let address = '';
  const startOnce = async (signal?: AbortSignal): Promise<ServerProcess> => {
    await stopEarlierServers(home, logger);
    const server = await startServerProcess({
      name: 'NATS',
      command,
      args: ['--config', 'nats.conf'],
      cwd: home, // A later start recognises the process by its working folder.
      // GOMAXPROCS allows one thread at a time: on a small machine the idle threads of nats-server
      // would take CPU time from Node. GOGC lets the heap grow to five times its live data: with a
      // heap of a few MiB, Go would otherwise collect garbage all the time.
      env: { GOMEMLIMIT: '64MiB', GOGC: '400', GOMAXPROCS: '1', TZ: 'UTC' },
      readyTimeoutMs: startTimeoutMs,
      stopSteps: ownStopSteps,
      signal,
      onLine: (line) => {
        logTrouble(line, logger);
        address = /Listening for client connections on (\S+)/.exec(line)?.[1] ?? address;
        return line.includes('Server is ready');
      },
    });
    logger.info({ pid: server.pid, address }, 'nats started');
    return server;
  };
  const server =
    watchAs === undefined
      ? await startOnce()
      : await startWatched({
          name: 'NATS',
          dataPath: home,
          logger,
          start: startOnce,
          ask: (timeoutMs) => askNats({ ...watchAs, address, timeoutMs }),
        });
  startup.defer(() => server.stop());

  const runningResources = startup.move();
  return {
    url: `nats://${address}`,
    get pid() {
      return server.pid;
    },
    exited: server.exited,
    [Symbol.asyncDispose]: () => runningResources.disposeAsync(),
  };
}

/**
 * Lists the streams over a new connection, because a server can accept connections, and even
 * messages, while JetStream hangs or has turned itself off.
 */
async function askNats({
  user,
  password,
  address,
  timeoutMs,
}: NatsLogin & { address: string; timeoutMs: number }): Promise<void> {
  const endsAt = performance.now() + timeoutMs;
  const connection = await connect({
    servers: address,
    user,
    pass: password,
    name: 'watch',
    // The user may be that of a component, which may subscribe to nothing but its own inboxes.
    inboxPrefix: `_INBOX_${user}`,
    reconnect: false,
    timeout: timeoutMs,
  });
  try {
    const timeout = Math.max(1, endsAt - performance.now());
    const manager = await jetstreamManager(connection, { checkAPI: false, timeout });
    await manager.streams.list().next();
  } finally {
    // Does not wait, because a server that hangs would never confirm the end.
    void connection.close().catch(() => undefined);
  }
}

/** Paths are relative to the server's folder; port -1 lets the system choose. */
function renderServerConfig(port: number, accounts: string, storeBytesMax: number): string {
  return renderNatsConfig({
    host: '127.0.0.1',
    port,
    pidFile: 'nats.pid',
    storeDir,
    memoryMax: '64MB',
    filesMax: String(storeBytesMax),
    accounts,
  });
}

function logTrouble(line: string, logger: EmbeddedLogger): void {
  // nats-server warns about plaintext passwords. They are random, and in a file that only this user
  // can read, so the warning is not logged.
  if (line.includes('Plaintext passwords')) return;
  const [, level, message] = /\[(WRN|ERR|FTL)\] (.*)/.exec(line) ?? [];
  if (level === 'WRN') logger.warn({ message }, 'nats warns');
  else if (level !== undefined) logger.error({ message }, 'nats fails');
}

/**
 * Stops all servers that run in this folder. They are found without a pid file: a killed start may
 * leave a server that has not written one yet, and two servers would write to the same streams.
 */
async function stopEarlierServers(home: string, logger: EmbeddedLogger): Promise<void> {
  const folder = await realpath(home);
  const isOurs = async (pid: number) =>
    (await readWorkingDirectory(pid)) === folder &&
    basename((await readCommandLine(pid))[0] ?? '').startsWith('nats-server');
  for (const pid of await findProcesses(isOurs)) {
    await stopOrphan({ name: 'NATS', pid, isOurs, stopSteps: ownStopSteps, logger });
  }
}
