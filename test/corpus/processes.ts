import { readFile, readdir } from 'node:fs/promises';

/** What this process and those it started use, as Linux counts it. */
export interface Usage {
  /** Processor time by process and thread. */
  readonly cpuMs: ReadonlyMap<string, number>;
  /** The most memory that was resident at once in each of those it started, added up. */
  readonly peakMib: number;
}

export async function measureUsage(): Promise<Usage> {
  const pids = [process.pid, ...(await childrenOf(process.pid))];
  const cpuMs = new Map<string, number>();
  let peakMib = 0;
  for (const pid of pids) {
    if (pid !== process.pid) peakMib += await peakOf(pid);
    for (const thread of await readdir(`/proc/${pid}/task`).catch(() => [])) {
      const file = `/proc/${pid}/task/${thread}/schedstat`;
      const [nanoseconds] = (await readFile(file, 'utf8').catch(() => '0')).split(' ');
      cpuMs.set(`${pid} ${thread}`, Number(nanoseconds) / 1e6);
    }
  }
  return { cpuMs, peakMib: Math.round(peakMib) };
}

/** Threads that ended in between count for nothing: they are few and idle. */
export function cpuBetween(before: Usage, after: Usage): number {
  return [...after.cpuMs].reduce((sum, [id, ms]) => sum + ms - (before.cpuMs.get(id) ?? 0), 0);
}

async function peakOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024;
}

async function childrenOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`);
  const lists = await Promise.all(
    threads.map((thread) =>
      readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => ''),
    ),
  );
  return lists.join(' ').split(/\s+/).filter(Boolean).map(Number);
}
