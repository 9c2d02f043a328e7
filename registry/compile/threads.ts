import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

import { AppError } from '#errors';

/** Setting EGRESS_ALLOW, of which a thread has no other way to know. */
export interface ThreadData {
  readonly egressAllow: string;
}

/** Threads that are kept for a while between jobs, because starting one takes longer than most jobs. */
export interface Threads extends AsyncDisposable {
  /** Resolves when it listens: the time that starting takes is nobody's document's fault. */
  take(): Promise<Worker>;
  keep(worker: Worker): void;
  end(worker: Worker): void;
}

const heapMib = 256;
const startMs = 10_000;

export function createThreads({
  egressAllow,
  idleMs,
}: ThreadData & { readonly idleMs: number }): Threads {
  const all = new Set<Worker>();
  const idle = new Map<Worker, NodeJS.Timeout>();
  const ending = new Set<Promise<unknown>>();

  const start = async () => {
    const worker = new Worker(new URL('worker.ts', import.meta.url), {
      // Nothing else of the process is its business: no environment, no output.
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
      workerData: { egressAllow } satisfies ThreadData,
      resourceLimits: { maxOldGenerationSizeMb: heapMib, maxYoungGenerationSizeMb: 32 },
    });
    worker.stdout.resume();
    worker.stderr.resume();
    // One that dies without work must not take the process with it.
    worker.on('error', () => end(worker)).on('exit', () => end(worker));
    all.add(worker);
    try {
      await once(worker, 'message', { signal: AbortSignal.timeout(startMs) });
      return worker;
    } catch (cause) {
      end(worker);
      throw new AppError('unavailable', 'Templates cannot be checked now; try again soon.', {
        cause,
      });
    }
  };
  const end = (worker: Worker) => {
    if (!all.has(worker)) return;
    clearTimeout(idle.get(worker));
    idle.delete(worker);
    all.delete(worker);
    const ended = worker.terminate().finally(() => ending.delete(ended));
    ending.add(ended);
  };

  return {
    async take() {
      const [worker] = idle.keys();
      if (worker === undefined) return start();
      clearTimeout(idle.get(worker));
      idle.delete(worker);
      worker.ref();
      return worker;
    },
    keep(worker) {
      if (!all.has(worker)) return;
      worker.unref();
      idle.set(worker, setTimeout(() => end(worker), idleMs).unref());
    },
    end,
    async [Symbol.asyncDispose]() {
      for (const worker of all) end(worker);
      await Promise.all(ending);
    },
  };
}
