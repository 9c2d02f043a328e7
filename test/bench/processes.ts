import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir } from 'node:fs/promises';

/** A program of the benchmark in a process of its own, ended by SIGTERM. */
export interface Program extends AsyncDisposable {
  readonly pid: number;
  /** The first match of `pattern` in what it prints. */
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
  let printed = '';
  child.stdout?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  return {
    pid: child.pid ?? 0,
    async find(pattern) {
      for (let round = 0; round < 600; round += 1) {
        const found = pattern.exec(printed)?.[1];
        if (found !== undefined) return found;
        if (child.exitCode !== null) throw new Error(`${args.join(' ')} ended: ${printed}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      throw new Error(`${args.join(' ')} did not print ${pattern} within 30 s: ${printed}`);
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/** The processes and all their descendants. */
export async function treeOf(roots: readonly number[]): Promise<number[]> {
  const parents = new Map<number, number>();
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '');
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    if (parent) parents.set(Number(entry), parent);
  }
  const tree = new Set(roots);
  for (let grown = true; grown;) {
    grown = false;
    for (const [pid, parent] of parents) {
      if (!tree.has(parent) || tree.has(pid)) continue;
      tree.add(pid);
      grown = true;
    }
  }
  return [...tree];
}

const ticksPerSecond = 100;

/** User and system time of the processes so far, in seconds. */
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

/** Proportional set size, in MiB: shared pages are counted once in sum. */
export async function pssMebibytesOf(pids: readonly number[]): Promise<number> {
  const sizes = await Promise.all(
    pids.map(async (pid) => {
      const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
      return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0) / 1024;
    }),
  );
  return sizes.reduce((sum, each) => sum + each, 0);
}
