import { readFile, readdir, readlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { EmbeddedError } from './embedded-error.ts';
import type { EmbeddedLogger, StopSteps } from './server-process.ts';

const pollMs = 20;

export interface OrphanSearch {
  readonly name: string;
  /** The pid in the pid file; the system may meanwhile have given it to another process. */
  readonly pid: number;
  /** Whether the process is the server that wrote the pid file. */
  readonly isOurs: (pid: number) => Promise<boolean>;
  readonly stopSteps: StopSteps;
  readonly logger: EmbeddedLogger;
}

/**
 * Stops the server that an earlier, killed start left running.
 *
 * Checks before every signal that the pid still belongs to that server, because the system may give
 * the pid to another process.
 */
export async function stopOrphan(search: OrphanSearch): Promise<void> {
  const { name, pid, isOurs, stopSteps, logger } = search;
  if (!(await isOurs(pid))) return;
  logger.warn({ server: name, pid }, 'stopping what is left of a server that was killed');
  for (const { signal, waitMs } of [...stopSteps, { signal: 'SIGKILL', waitMs: 5_000 } as const]) {
    sendSignal(pid, signal);
    for (let waitedMs = 0; waitedMs < waitMs; waitedMs += pollMs) {
      await sleep(pollMs);
      if (!(await isOurs(pid))) return;
    }
  }
  throw new EmbeddedError(`${name} of an earlier start (process ${pid}) cannot be stopped.`);
}

/** Reads the pid in a pid file's first line; undefined when there is none. */
export async function readPidFile(path: string): Promise<number | undefined> {
  const pid = Number((await readFile(path, 'utf8').catch(() => '')).split('\n', 1)[0]);
  return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined;
}

/**
 * The command line of a live process; empty when the process has ended or its command line cannot
 * be read.
 */
export async function readCommandLine(pid: number): Promise<readonly string[]> {
  return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
}

export async function readWorkingDirectory(pid: number): Promise<string | undefined> {
  return readlink(`/proc/${pid}/cwd`).catch(() => undefined);
}

/**
 * Every live process that the test accepts. It finds servers that have not written a pid file yet.
 */
export async function findProcesses(
  acceptsProcess: (pid: number) => Promise<boolean>,
): Promise<number[]> {
  const pids: number[] = [];
  for (const name of await readdir('/proc')) {
    const pid = Number(name);
    if (Number.isInteger(pid) && (await acceptsProcess(pid))) pids.push(pid);
  }
  return pids;
}

/** Whether the process still runs. A zombie, which has ended but was not waited for, does not. */
export async function isAlive(pid: number): Promise<boolean> {
  const statText = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // In /proc/PID/stat the state follows the process name, which is in parentheses and may contain
  // any character.
  return (
    statText !== undefined &&
    !['Z', 'X'].includes(statText.slice(statText.lastIndexOf(')') + 2)[0] ?? '')
  );
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
