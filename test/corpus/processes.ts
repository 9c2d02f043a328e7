import { readFile, readdir } from 'node:fs/promises';

/** The CPU time and memory of this process and its descendants, as Linux counts them. */
export interface Usage {
  /** The CPU time by process and thread. */
  readonly cpuMs: ReadonlyMap<string, number>;
  /** The sum of the highest resident memory that each descendant has had. */
  readonly peakMib: number;
}

export async function measureUsage(): Promise<Usage> {
  const pids = [process.pid, ...(await childrenOf(process.pid))];
  const cpuMs = new Map<string, number>();
  let peakMib = 0;
  for (const pid of pids) {
    if (pid !== process.pid) peakMib += await peakMebibytesOf(pid);
    for (const thread of await readdir(`/proc/${pid}/task`).catch(() => [])) {
      const file = `/proc/${pid}/task/${thread}/schedstat`;
      const [nanoseconds] = (await readFile(file, 'utf8').catch(() => '0')).split(' ');
      cpuMs.set(`${pid} ${thread}`, Number(nanoseconds) / 1e6);
    }
  }
  return { cpuMs, peakMib: Math.round(peakMib) };
}

/**
 * The CPU time that was used between two readings. Leaves out threads that ended between the
 * readings. They are few and mostly idle.
 */
export function cpuMsBetween(before: Usage, after: Usage): number {
  return [...after.cpuMs].reduce((sum, [id, ms]) => sum + ms - (before.cpuMs.get(id) ?? 0), 0);
}

async function peakMebibytesOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024;
}

async function childrenOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`);
  const childLists = await Promise.all(
    threads.map((thread) =>
      readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => ''),
    ),
  );
  return childLists.join(' ').split(/\s+/).filter(Boolean).map(Number);
}
