import { realpath, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { EmbeddedError } from './embedded-error.ts';
import {
  findProcesses,
  readCommandLine,
  readPidFile,
  readWorkingDirectory,
  stopOrphan,
} from './orphan.ts';
import { startServerProcess } from './server-process.ts';
import type { EmbeddedLogger, ServerCommand, ServerProcess, StopSteps } from './server-process.ts';

const takeoverTimeoutMs = 10_000;
const survivorSteps: StopSteps = [{ signal: 'SIGQUIT', waitMs: 2_000 }];
const occupiedPattern = /shared memory block|lock file "postmaster\.pid"/;

/**
 * Starts Postgres, and retries for a while: a start that was killed at the wrong moment leaves a
 * server that cannot be recognised yet, but is about to use the folder.
 */
export async function startAlone(
  dataPath: string,
  command: ServerCommand,
  logger: EmbeddedLogger,
): Promise<ServerProcess> {
  const waitEndsAtMs = performance.now() + takeoverTimeoutMs;
  for (;;) {
    await stopEarlierServer(dataPath, command.stopSteps, logger);
    try {
      const server = await startServerProcess(command);
      return {
        ...server,
        async stop(options) {
          await server.stop(options);
          // After SIGKILL, the processes of the server's sessions may live on. Those that are
          // stopped (SIGSTOP) would stay for ever.
          await stopSurvivors(dataPath, logger);
        },
      };
    } catch (error) {
      const isOccupied = error instanceof EmbeddedError && occupiedPattern.test(error.message);
      if (!isOccupied || performance.now() > waitEndsAtMs) throw error;
      await sleep(200);
    }
  }
}

/**
 * Stops the server of an earlier start, or its remaining processes, and then removes its pid file.
 *
 * Postgres ignores a pid file whose process has ended, but refuses to start when the file is empty
 * or the pid now belongs to another process. The pid file also protects against processes that
 * outlived their server, so it is removed only when there are none.
 */
async function stopEarlierServer(
  dataPath: string,
  gentleSteps: StopSteps,
  logger: EmbeddedLogger,
): Promise<void> {
  const isOurs = await recogniseServersOf(dataPath);
  const pidFile = join(dataPath, 'postmaster.pid');
  const pid = await readPidFile(pidFile);
  if (pid !== undefined) {
    await stopOrphan({ name: 'Postgres', isOurs, logger, pid, stopSteps: gentleSteps });
  }
  await stopSurvivors(dataPath, logger);
  await rm(pidFile, { force: true });
}

async function stopSurvivors(dataPath: string, logger: EmbeddedLogger): Promise<void> {
  const isOurs = await recogniseServersOf(dataPath);
  const survivors = await findProcesses(isOurs);
  await Promise.all(
    survivors.map((pid) =>
      stopOrphan({ name: 'Postgres', isOurs, logger, pid, stopSteps: survivorSteps }),
    ),
  );
}

/** A test of whether a process belongs to a server that runs in this folder. */
async function recogniseServersOf(dataPath: string): Promise<(pid: number) => Promise<boolean>> {
  const folder = await realpath(dataPath);
  return async (pid) =>
    (await readWorkingDirectory(pid)) === folder &&
    basename((await readCommandLine(pid))[0] ?? '').startsWith('postgres');
}
