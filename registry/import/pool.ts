import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

import { AppError } from '#errors';
import type { ImportRequest, Imported } from './imported.ts';
import type { WorkerJob, WorkerReport } from './protocol.ts';

export interface ImportPoolOptions {
  /** Processes at most. Each is started when needed and stopped when idle. */
  readonly workers: number;
  /** Wall time of one import, in a process that is up and running. */
  readonly timeoutMs: number;
  /** JavaScript heap of a process; a document that needs more is refused. */
  readonly heapMib: number;
  /** Imports that wait for a process; more are refused as `unavailable`. */
  readonly queueMax?: number;
  readonly idleMs?: number;
  /** Further options of Node for the processes. */
  readonly execArgv?: readonly string[];
}

export interface ImportCall extends ImportRequest {
  /** Its turn has come. */
  readonly onStart?: () => void;
  /** Operations that were looked at, of how many. */
  readonly onProgress?: (done: number, total: number) => void;
}

/**
 * Imports documents that nobody trusts, away from the event loop, with limits that hold. In
 * processes and not on threads: who runs out of memory inside of `JSON.parse` aborts the process.
 */
export interface ImportPool extends AsyncDisposable {
  /** Throws `unavailable` when too many wait, and what the importer throws when it has a fault. */
  importDocument(call: ImportCall): Promise<Imported>;
}

interface Job {
  readonly call: ImportCall;
  resolve(imported: Imported): void;
  reject(error: unknown): void;
}

interface Worker {
  readonly process: ChildProcess;
  state: 'starting' | 'idle' | 'busy';
  job: Job | undefined;
  timer: NodeJS.Timeout | undefined;
}

const startMs = 20_000;

const timedOut = refused(
  'time_out',
  'Reading the document took too long. Cut it down to the operations you need.',
);
const outOfMemory = refused(
  'too_complex',
  'Reading the document took too much memory. Cut it down to the operations you need.',
);

export function createImportPool(options: ImportPoolOptions): ImportPool {
  const pool = new Pool(options);
  return {
    importDocument: (call) => pool.submit(call),
    [Symbol.asyncDispose]: () => pool.close(),
  };
}

class Pool {
  readonly #options: ImportPoolOptions;
  readonly #workers = new Set<Worker>();
  readonly #stopping = new Set<Promise<unknown>>();
  readonly #queue: Job[] = [];
  #closed = false;

  constructor(options: ImportPoolOptions) {
    this.#options = options;
  }

  async submit(call: ImportCall): Promise<Imported> {
    if (this.#closed || this.#queue.length >= (this.#options.queueMax ?? 16)) throw busy();
    const { promise, resolve, reject } = Promise.withResolvers<Imported>();
    this.#queue.push({ call, resolve, reject });
    this.#pump();
    return promise;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const job of this.#queue.splice(0)) job.reject(busy());
    for (const worker of this.#workers) {
      worker.job?.reject(busy());
      this.#stop(worker);
    }
    await Promise.all(this.#stopping);
  }

  #pump(): void {
    if (this.#closed) return;
    for (const worker of this.#workers) {
      if (worker.state !== 'idle') continue;
      const job = this.#queue.shift();
      if (job === undefined) return;
      this.#assign(worker, job);
    }
    const starting = [...this.#workers].filter(({ state }) => state === 'starting').length;
    const free = this.#options.workers - this.#workers.size;
    for (let n = Math.min(this.#queue.length - starting, free); n > 0; n -= 1) this.#start();
  }

  #start(): void {
    const { heapMib, execArgv = [] } = this.#options;
    const child = fork(new URL('worker.ts', import.meta.url), {
      // Nothing of ours is its business: no environment, no input, no output.
      env: {},
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      execArgv: [`--max-old-space-size=${heapMib}`, '--max-semi-space-size=16', ...execArgv],
      serialization: 'advanced',
    });
    const worker: Worker = { process: child, state: 'starting', job: undefined, timer: undefined };
    this.#workers.add(worker);
    child.on('message', (report: WorkerReport) => this.#onReport(worker, report));
    child.on('error', (error) => this.#onCrash(worker, error));
    child.on('exit', (code, signal) =>
      this.#onCrash(worker, new Error(`the importer ended with ${signal ?? code}`), signal),
    );
    const late = () => this.#onCrash(worker, new Error('the importer did not start'));
    worker.timer = setTimeout(late, startMs).unref();
  }

  #assign(worker: Worker, job: Job): void {
    clearTimeout(worker.timer);
    worker.state = 'busy';
    worker.job = job;
    keepAlive(worker, true);
    const { onStart, onProgress, ...request } = job.call;
    const message: WorkerJob = { request, wantsProgress: onProgress !== undefined };
    // Only fails when the process has ended, which is heard of otherwise.
    worker.process.send(message, () => {});
    onStart?.();
    worker.timer = setTimeout(() => {
      job.resolve(timedOut);
      this.#stop(worker);
      this.#pump();
    }, this.#options.timeoutMs);
  }

  #onReport(worker: Worker, report: WorkerReport): void {
    if (!this.#workers.has(worker)) return;
    const { job } = worker;
    if (report.kind === 'progress') return job?.call.onProgress?.(report.done, report.total);
    if (report.kind === 'result') job?.resolve(report.imported);
    if (report.kind === 'failed') job?.reject(new Error(report.problem));
    clearTimeout(worker.timer);
    worker.state = 'idle';
    worker.job = undefined;
    keepAlive(worker, false);
    worker.timer = setTimeout(() => this.#stop(worker), this.#options.idleMs ?? 30_000).unref();
    this.#pump();
  }

  #onCrash(worker: Worker, error: Error, signal?: NodeJS.Signals | null): void {
    if (!this.#workers.has(worker)) return;
    // One that cannot even start takes a waiting import with it, or the queue would never move.
    const job = worker.job ?? (worker.state === 'starting' ? this.#queue.shift() : undefined);
    this.#stop(worker);
    // How V8 ends a process whose heap is full, and the system one that takes too much.
    if (signal === 'SIGABRT' || signal === 'SIGKILL') job?.resolve(outOfMemory);
    else job?.reject(error);
    this.#pump();
  }

  #stop(worker: Worker): void {
    clearTimeout(worker.timer);
    worker.job = undefined;
    if (!this.#workers.delete(worker)) return;
    const { process: child } = worker;
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
    // Whoever closes the pool waits for this, and nothing else may keep our process running.
    child.ref();
    const stopped = once(child, 'exit').finally(() => this.#stopping.delete(stopped));
    this.#stopping.add(stopped);
    child.kill('SIGKILL');
  }
}

/** An idle process must not keep ours from ending. */
function keepAlive({ process: child }: Worker, isNeeded: boolean): void {
  if (isNeeded) {
    child.ref();
    child.channel?.ref();
  } else {
    child.unref();
    child.channel?.unref();
  }
}

function busy(): AppError {
  return new AppError('unavailable', 'Too many documents are being imported. Try again soon.');
}

function refused(code: 'time_out' | 'too_complex', message: string): Imported {
  return { ok: false, findings: [{ code, message, path: '', severity: 'error' }] };
}
