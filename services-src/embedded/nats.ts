import { realpath, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';

import { lockDataDir } from './data-dir-lock.ts';
import { findNatsServer } from './nats-binary.ts';
import { findProcesses, readCommandLine, readWorkingDirectory, stopOrphan } from './orphan.ts';
import { startServerProcess } from './server-process.ts';
import type { EmbeddedLogger, StopSteps } from './server-process.ts';

export interface StartNatsOptions {
  /** Streams are in its subfolder `nats`. */
  readonly dataDir: string;
  /** Accounts, users and their permissions, in the server's own notation. */
  readonly config: string;
  readonly logger: EmbeddedLogger;
  /** A free one if not given. */
  readonly port?: number;
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

export interface EmbeddedNats extends AsyncDisposable {
  /** Without credentials: those are in the config. */
  readonly url: string;
  readonly pid: number;
  /** Settles, with a sentence, only if NATS ends without having been asked to. */
  readonly exited: Promise<string>;
}

const ownStopSteps: StopSteps = [{ signal: 'SIGTERM', waitMs: 10_000 }];
const startTimeoutMs = 30_000;

/**
 * Starts NATS with JetStream on a loopback port, with its streams below `dataDir`, and
 * stops what an earlier start that was killed has left running there.
 */
export async function startNats(options: StartNatsOptions): Promise<EmbeddedNats> {
  const { logger, config, port = -1, environment = process.env } = options;
  const home = join(resolve(options.dataDir), 'nats');
  await using startup = new AsyncDisposableStack();
  startup.use(await lockDataDir(home));
  const command = await findNatsServer({ environment, logger });
  await stopEarlierServers(home, logger);
  // Passwords are in it.
  await writeFile(join(home, 'nats.conf'), `${serverConfig(port)}\n${config}\n`, { mode: 0o600 });

  let address = '';
  const server = await startServerProcess({
    name: 'NATS',
    command,
    args: ['--config', 'nats.conf'],
    cwd: home, // by which a later start knows the process again
    // One thread at a time: on a small machine its idle threads would look for work that Node could do.
    // A heap of a few MiB would be collected all the time, so it may grow to five times of what lives.
    env: { GOMEMLIMIT: '64MiB', GOGC: '400', GOMAXPROCS: '1', TZ: 'UTC' },
    readyTimeoutMs: startTimeoutMs,
    stopSteps: ownStopSteps,
    onLine: (line) => {
      logTrouble(line, logger);
      address = /Listening for client connections on (\S+)/.exec(line)?.[1] ?? address;
      return line.includes('Server is ready');
    },
  });
  startup.defer(() => server.stop());
  logger.info({ pid: server.pid, address }, 'nats started');

  const running = startup.move();
  return {
    url: `nats://${address}`,
    pid: server.pid,
    exited: server.exited,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Paths are relative to the server's folder; port -1 lets the system choose. */
function serverConfig(port: number): string {
  return [
    `listen: "127.0.0.1:${port}"`,
    'pid_file: "nats.pid"',
    'max_payload: 4MB',
    'lame_duck_duration: "30s"',
    'lame_duck_grace_period: "2s"',
    'jetstream { store_dir: "jetstream", max_memory_store: 64MB, max_file_store: 10GB }',
  ].join('\n');
}

function logTrouble(line: string, logger: EmbeddedLogger): void {
  // They are random, and in a file that only our user can read.
  if (line.includes('Plaintext passwords')) return;
  const [, level, message] = /\[(WRN|ERR|FTL)\] (.*)/.exec(line) ?? [];
  if (level === 'WRN') logger.warn({ message }, 'nats warns');
  else if (level !== undefined) logger.error({ message }, 'nats fails');
}

/**
 * All that run in this folder, found without a pid file: one killed start may leave a server
 * that has not written it yet, and two servers would write to the same streams.
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
