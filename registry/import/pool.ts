import { Worker } from 'node:worker_threads';

import { AppError } from '#errors';
import type { ImportRequest, Imported } from './imported.ts';
import type { WorkerJob, WorkerReport } from './protocol.ts';

export interface ImportPoolOptions {
  /** Threads at most. Each is started when needed and stopped when idle. */
  readonly workers: number;
  /** Wall time of one import, on a thread that is up and running. */
  readonly timeoutMs: number;
  /** JavaScript heap of a thread; a document that needs more is refused. */
  readonly heapMib: number;
  /** Imports that wait for a thread; more are refused as `unavailable`. */
  readonly queueMax?: number;
  readonly idleMs?: number;
  /** Options of Node for the threads. */
  readonly execArgv?: string[];
}

export interface ImportCall extends ImportRequest {
  readonly onProgress?: (done: number, total: number) => void;
}

/** Imports documents that nobody trusts, away from the event loop, with limits that hold. */
export interface ImportPool extends AsyncDisposable {
  /** Throws `unavailable` when too many wait, and what the importer throws when it has a fault. */
  importDocument(call: ImportCall): Promise<Imported>;
}

interface Job {
  readonly call: ImportCall;
  resolve(imported: Imported): void;
  reject(error: unknown): void;
}

interface Thread {
  readonly worker: Worker;
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
  readonly #threads = new Set<Thread>();
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
    for (const thread of this.#threads) {
      thread.job?.reject(busy());
      this.#stop(thread);
    }
    await Promise.all(this.#stopping);
  }

  #pump(): void {
    if (this.#closed) return;
    for (const thread of this.#threads) {
      if (thread.state !== 'idle') continue;
      const job = this.#queue.shift();
      if (job === undefined) return;
      this.#assign(thread, job);
    }
    const starting = [...this.#threads].filter(({ state }) => state === 'starting').length;
    const free = this.#options.workers - this.#threads.size;
    for (let n = Math.min(this.#queue.length - starting, free); n > 0; n -= 1) this.#start();
  }

  #start(): void {
    const worker = new Worker(new URL('worker.ts', import.meta.url), {
      // Nothing of the process is its business: no environment, no output.
      env: {},
      execArgv: this.#options.execArgv ?? [],
      stdout: true,
      stderr: true,
      resourceLimits: {
        maxOldGenerationSizeMb: this.#options.heapMib,
        maxYoungGenerationSizeMb: 32,
      },
    });
    worker.stdout.resume();
    worker.stderr.resume();
    const thread: Thread = { worker, state: 'starting', job: undefined, timer: undefined };
    this.#threads.add(thread);
    worker.on('message', (report: WorkerReport) => this.#onReport(thread, report));
    worker.on('error', (error) => this.#onCrash(thread, error));
    worker.on('exit', (code) => this.#onCrash(thread, new Error(`the thread ended with ${code}`)));
    const late = () => this.#onCrash(thread, new Error('the thread did not start'));
    thread.timer = setTimeout(late, startMs).unref();
  }

  #assign(thread: Thread, job: Job): void {
    clearTimeout(thread.timer);
    thread.state = 'busy';
    thread.job = job;
    thread.worker.ref();
    const { onProgress, ...request } = job.call;
    const message: WorkerJob = { request, wantsProgress: onProgress !== undefined };
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    thread.worker.postMessage(message);
    thread.timer = setTimeout(() => {
      job.resolve(timedOut);
      this.#stop(thread);
      this.#pump();
    }, this.#options.timeoutMs);
  }

  #onReport(thread: Thread, report: WorkerReport): void {
    if (!this.#threads.has(thread)) return;
    const { job } = thread;
    if (report.kind === 'progress') return job?.call.onProgress?.(report.done, report.total);
    if (report.kind === 'result') job?.resolve(report.imported);
    clearTimeout(thread.timer);
    thread.state = 'idle';
    thread.job = undefined;
    thread.worker.unref();
    thread.timer = setTimeout(() => this.#stop(thread), this.#options.idleMs ?? 30_000).unref();
    this.#pump();
  }

  #onCrash(thread: Thread, error: unknown): void {
    if (!this.#threads.has(thread)) return;
    // One that cannot even start takes a waiting import with it, or the queue would never move.
    const job = thread.job ?? (thread.state === 'starting' ? this.#queue.shift() : undefined);
    this.#stop(thread);
    if (isOutOfMemory(error)) job?.resolve(outOfMemory);
    else job?.reject(error);
    this.#pump();
  }

  #stop(thread: Thread): void {
    clearTimeout(thread.timer);
    thread.job = undefined;
    if (!this.#threads.delete(thread)) return;
    const stopped = thread.worker.terminate().finally(() => this.#stopping.delete(stopped));
    this.#stopping.add(stopped);
  }
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}

function busy(): AppError {
  return new AppError('unavailable', 'Too many documents are being imported. Try again soon.');
}

function refused(code: 'time_out' | 'too_complex', message: string): Imported {
  return { ok: false, findings: [{ code, message, path: '', severity: 'error' }] };
}
