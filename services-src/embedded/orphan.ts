import { readFile, readdir, readlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { EmbeddedError } from './embedded-error.ts';
import type { EmbeddedLogger, StopSteps } from './server-process.ts';

const pollMs = 20;

export interface OrphanSearch {
  readonly name: string;
  /** As a pid file names it; by now it may be anybody's. */
  readonly pid: number;
  /** Whether the process is the server that wrote the pid file. */
  readonly isOurs: (pid: number) => Promise<boolean>;
  readonly stopSteps: StopSteps;
  readonly logger: EmbeddedLogger;
}

/**
 * Stops the server that an earlier start left behind when it was killed.
 *
 * Ownership is checked again before every signal, since a pid may change hands.
 */
export async function stopOrphan(search: OrphanSearch): Promise<void> {
  const { name, pid, isOurs, stopSteps, logger } = search;
  if (!(await isOurs(pid))) return;
  logger.warn({ server: name, pid }, 'stopping a server left by a start that was killed');
  for (const { signal, waitMs } of [...stopSteps, { signal: 'SIGKILL', waitMs: 5_000 } as const]) {
    sendSignal(pid, signal);
    for (let waitedMs = 0; waitedMs < waitMs; waitedMs += pollMs) {
      await sleep(pollMs);
      if (!(await isOurs(pid))) return;
    }
  }
  throw new EmbeddedError(`${name} of an earlier start (process ${pid}) cannot be stopped.`);
}

/** A pid file's first line, or undefined where there is none. */
export async function readPidFile(path: string): Promise<number | undefined> {
  const pid = Number((await readFile(path, 'utf8').catch(() => '')).split('\n', 1)[0]);
  return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined;
}

/** The command line of a live process, empty for one that has ended or is not ours to see. */
export async function readCommandLine(pid: number): Promise<readonly string[]> {
  return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
}

export async function readWorkingDirectory(pid: number): Promise<string | undefined> {
  return readlink(`/proc/${pid}/cwd`).catch(() => undefined);
}

/** Every live process that the test accepts; for servers that may not have written a pid yet. */
export async function findProcesses(test: (pid: number) => Promise<boolean>): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    const pid = Number(name);
    if (Number.isInteger(pid) && (await test(pid))) found.push(pid);
  }
  return found;
}

/** Whether it still runs: one that has ended, but that nobody has asked for its exit code, does not. */
export async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // The state follows the name, which stands in parentheses and may hold any character.
  return stat !== undefined && !['Z', 'X'].includes(stat.slice(stat.lastIndexOf(')') + 2)[0] ?? '');
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
