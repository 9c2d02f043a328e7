import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir } from 'node:fs/promises';

/** A program of the benchmark in a separate process. Disposing it sends SIGTERM. */
export interface Program extends AsyncDisposable {
  readonly pid: number;
  /** Waits for `pattern` in the program's output, and returns the first match. */
  find(pattern: RegExp): Promise<string>;
}

export function startProgram(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>> = process.env,
  folder = process.cwd(),
): Program {
  const child: ChildProcess = spawn(process.execPath, args, {
    cwd: folder,
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printedText = '';
  child.stdout?.on('data', (chunk: Buffer) => (printedText += chunk.toString()));
  return {
    pid: child.pid ?? 0,
    async find(pattern) {
      for (let round = 0; round < 2_400; round += 1) {
        const matchedText = pattern.exec(printedText)?.[1];
        if (matchedText !== undefined) return matchedText;
        if (child.exitCode !== null) throw new Error(`${args.join(' ')} ended: ${printedText}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      throw new Error(
        `${args.join(' ')} did not print ${pattern} within 2 minutes: ${printedText}`,
      );
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/** The ids of the given processes and of all their descendants. */
export async function listProcessTree(givenPids: readonly number[]): Promise<number[]> {
  const parentByPid = new Map<number, number>();
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '');
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    if (parent) parentByPid.set(Number(entry), parent);
  }
  const treePids = new Set(givenPids);
  for (let hasGrown = true; hasGrown;) {
    hasGrown = false;
    for (const [pid, parent] of parentByPid) {
      if (!treePids.has(parent) || treePids.has(pid)) continue;
      treePids.add(pid);
      hasGrown = true;
    }
  }
  return [...treePids];
}

const ticksPerSecond = 100;

/** The user and system CPU time that the processes have used so far, in seconds. */
export async function cpuSecondsOf(pids: readonly number[]): Promise<number> {
  const seconds = await Promise.all(
    pids.map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
      if (stat === undefined) return 0;
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
    }),
  );
  return seconds.reduce((sum, each) => sum + each, 0);
}

/**
 * The sum of the processes' proportional set sizes in MiB. Memory that several processes share is
 * counted only once.
 */
export async function pssMebibytesOf(pids: readonly number[]): Promise<number> {
  const sizesMebibytes = await Promise.all(
    pids.map(async (pid) => {
      const smapsRollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
      return Number(/^Pss:\s+(\d+) kB/m.exec(smapsRollup)?.[1] ?? 0) / 1024;
    }),
  );
  return sizesMebibytes.reduce((sum, each) => sum + each, 0);
}
