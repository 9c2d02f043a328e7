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
const occupied = /shared memory block|lock file "postmaster\.pid"/;

/**
 * Starts Postgres, for a while again and again: a start killed at its worst moment leaves a
 * server that is not to be recognised yet, but is about to take the folder.
 */
export async function startAlone(
  dataPath: string,
  command: ServerCommand,
  logger: EmbeddedLogger,
): Promise<ServerProcess> {
  const until = performance.now() + takeoverTimeoutMs;
  for (;;) {
    await stopEarlierServer(dataPath, command.stopSteps, logger);
    try {
      return await startServerProcess(command);
    } catch (error) {
      const isOccupied = error instanceof EmbeddedError && occupied.test(error.message);
      if (!isOccupied || performance.now() > until) throw error;
      await sleep(200);
    }
  }
}

/**
 * Stops the server of an earlier start, or what is left of it, and then removes its pid file.
 *
 * Postgres judges a pid file well if its process is gone. It gives up at an empty one, and at
 * one whose number somebody else has now. But removing the file takes away its protection from
 * processes that survived their server, so first there must be none.
 */
async function stopEarlierServer(
  dataPath: string,
  gently: StopSteps,
  logger: EmbeddedLogger,
): Promise<void> {
  const folder = await realpath(dataPath);
  const isOurs = async (pid: number) =>
    (await readWorkingDirectory(pid)) === folder &&
    basename((await readCommandLine(pid))[0] ?? '').startsWith('postgres');

  const pidFile = join(dataPath, 'postmaster.pid');
  const pid = await readPidFile(pidFile);
  const search = { name: 'Postgres', isOurs, logger };
  if (pid !== undefined) await stopOrphan({ ...search, pid, stopSteps: gently });
  for (const survivor of await findProcesses(isOurs)) {
    await stopOrphan({ ...search, pid: survivor, stopSteps: survivorSteps });
  }
  await rm(pidFile, { force: true });
}
