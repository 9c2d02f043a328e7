import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

import { Turns } from './turns.ts';
import type { JqFailure, JqResult, WorkerJob, WorkerReport, WorkerSettings } from './protocol.ts';

export type { JqResult };

export interface JqPoolOptions {
  /** Threads at most, by default two to four. Each is started when needed and stopped when idle. */
  readonly workers?: number;
  /** Wall time of one filter, on a thread that is up and running. */
  readonly timeoutMs?: number;
  readonly outputBytesMax?: number;
  /** Calls that wait for a thread; more are refused as `busy`. */
  readonly queueMax?: number;
  readonly memoryBytesMax?: number;
  readonly idleMs?: number;
}

export interface JqCall {
  /** JSON text, not a value: numbers keep all their digits. */
  readonly input: string;
  /**
   * Whom it is for: each takes its turn, and one thread stays free of whoever fills the others.
   * Undefined: nobody's in particular.
   */
  readonly owner?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

/** Runs jq filters that nobody trusts, away from the event loop, with a deadline that holds. */
export interface JqPool extends AsyncDisposable {
  run(call: JqCall & { readonly filter: string }): Promise<JqResult>;
  /** Several filters over one input; each has its own deadline and its own result, in their order. */
  runMany(call: JqCall & { readonly filters: readonly { filter: string }[] }): Promise<JqResult[]>;
  /** Compiles a filter without giving it any data. */
  checkSyntax(filter: string, owner?: string): Promise<JqResult>;
}

interface Job {
  readonly owner: unknown;
  readonly filters: readonly string[];
  readonly input: string;
  readonly timeoutMs: number;
  readonly results: JqResult[];
  finish(): void;
}

interface Thread {
  readonly worker: Worker;
  state: 'starting' | 'idle' | 'busy';
  job: Job | undefined;
  timer: NodeJS.Timeout | undefined;
}

const mebibyte = 1024 * 1024;
const startMs = 10_000;

const timedOut: JqResult = failed('timeout', 'The filter took too long.');
const cancelled: JqResult = failed('timeout', 'The call was cancelled.');
const crashed: JqResult = failed('memory', 'The filter needs too much memory.');
const busy: JqResult = failed('busy', 'Too many filters are waiting. Try again.');

export function createJqPool(options: JqPoolOptions = {}): JqPool {
  const pool = new Pool(options);
  const { timeoutMs = 250 } = options;
  const runMany = (filters: readonly string[], call: JqCall) =>
    pool.submit(
      {
        filters,
        input: call.input,
        timeoutMs: call.timeoutMs ?? timeoutMs,
        owner: call.owner ?? Symbol('nobody'),
      },
      call.signal,
    );
  return {
    run: async ({ filter, ...call }) => (await runMany([filter], call))[0]!,
    runMany: ({ filters, ...call }) =>
      runMany(
        filters.map(({ filter }) => filter),
        call,
      ),
    // jq compiles first and then runs once for each value of the input, of which there is none here.
    checkSyntax: async (filter, owner) => (await runMany([filter], { input: '', owner }))[0]!,
    [Symbol.asyncDispose]: () => pool.close(),
  };
}

class Pool {
  readonly #workersMax: number;
  readonly #idleMs: number;
  readonly #limits: Omit<WorkerSettings, 'module'>;
  readonly #threads = new Set<Thread>();
  readonly #stopping = new Set<Promise<unknown>>();
  readonly #queue: Turns<Job>;
  #module: WebAssembly.Module | undefined;
  #loading: Promise<void> | undefined;
  #closed = false;

  constructor(options: JqPoolOptions) {
    const { queueMax = 256 } = options;
    this.#workersMax = options.workers ?? Math.min(4, Math.max(2, availableParallelism()));
    this.#queue = new Turns({
      runningMaxPerOwner: Math.max(1, this.#workersMax - 1),
      waitingMax: queueMax,
      waitingMaxPerOwner: Math.ceil(queueMax / 4),
    });
    this.#idleMs = options.idleMs ?? 30_000;
    this.#limits = {
      memoryBytesMax: options.memoryBytesMax ?? 128 * mebibyte,
      memoryBytesKept: 48 * mebibyte,
      outputBytesMax: options.outputBytesMax ?? 256 * 1024,
    };
  }

  async submit(
    work: WorkerJob & { timeoutMs: number; owner: unknown },
    signal?: AbortSignal,
  ): Promise<JqResult[]> {
    const all = (result: JqResult) => work.filters.map(() => result);
    if (work.filters.length === 0) return [];
    if (signal?.aborted) return all(cancelled);
    if (this.#closed || !this.#queue.hasRoomFor(work.owner)) return all(busy);
    const { promise, resolve } = Promise.withResolvers<JqResult[]>();
    const job: Job = { ...work, results: [], finish: () => resolve(job.results) };
    const onAbort = () => this.#cancel(job);
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#queue.add(job);
    await this.#load();
    this.#pump();
    try {
      return await promise;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const job of this.#queue.removeAll()) this.#giveUp(job, busy);
    for (const thread of this.#threads) {
      if (thread.job) this.#giveUp(thread.job, busy);
      this.#stop(thread);
    }
    await Promise.all(this.#stopping);
  }

  /** Compiled once; every thread gets the same machine code. */
  async #load(): Promise<void> {
    this.#loading ??= (async () => {
      const path = createRequire(import.meta.url).resolve('jq-wasm/jq.wasm');
      this.#module = await WebAssembly.compile(await readFile(path));
    })();
    await this.#loading;
  }

  #pump(): void {
    if (this.#closed || this.#module === undefined) return;
    for (const thread of this.#threads) {
      if (thread.state !== 'idle') continue;
      const job = this.#queue.takeNext(this.#running());
      if (job === undefined) return;
      this.#assign(thread, job);
    }
    const starting = [...this.#threads].filter(({ state }) => state === 'starting').length;
    const ready = this.#queue.countReady(this.#running());
    const wanted = Math.min(ready - starting, this.#workersMax - this.#threads.size);
    for (let n = 0; n < wanted; n += 1) this.#start(this.#module);
  }

  #running(): Job[] {
    return [...this.#threads].flatMap(({ job }) => job ?? []);
  }

  #start(module: WebAssembly.Module): void {
    const worker = new Worker(new URL('worker.ts', import.meta.url), {
      // Nothing of the process is its business: no environment, no options, no output.
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 },
      workerData: { module, ...this.#limits } satisfies WorkerSettings,
    });
    worker.stdout.resume();
    worker.stderr.resume();
    const thread: Thread = { worker, state: 'starting', job: undefined, timer: undefined };
    this.#threads.add(thread);
    worker.on('message', (report: WorkerReport) => {
      if (!this.#threads.has(thread)) return;
      if (report.kind === 'ready') this.#release(thread);
      else this.#onResult(thread, report);
    });
    thread.timer = setTimeout(() => this.#onCrash(thread), startMs).unref();
    worker.on('error', () => this.#onCrash(thread));
    worker.on('exit', () => this.#onCrash(thread));
  }

  #assign(thread: Thread, job: Job): void {
    clearTimeout(thread.timer);
    thread.state = 'busy';
    thread.job = job;
    thread.worker.ref();
    const filters = job.filters.slice(job.results.length);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    thread.worker.postMessage({ filters, input: job.input } satisfies WorkerJob);
    this.#startClock(thread, job);
  }

  #startClock(thread: Thread, job: Job): void {
    const done = job.results.length;
    thread.timer = setTimeout(() => {
      // Our own event loop may be what was late: let a result that is already here be read first.
      setImmediate(() => {
        if (thread.job === job && job.results.length === done) this.#end(thread, job, timedOut);
      });
    }, job.timeoutMs);
  }

  #onResult(thread: Thread, { result, retire }: WorkerReport & { kind: 'result' }): void {
    const { job } = thread;
    if (job === undefined) return;
    if (retire) return this.#end(thread, job, result);
    job.results.push(result);
    clearTimeout(thread.timer);
    if (job.results.length < job.filters.length) return this.#startClock(thread, job);
    job.finish();
    this.#release(thread);
  }

  /** The thread has become useless for everybody, by its fault or ours. */
  #onCrash(thread: Thread): void {
    if (!this.#threads.has(thread)) return;
    // One that cannot even start takes a waiting call with it, or the queue would never move.
    const isStarting = thread.state === 'starting';
    const job = thread.job ?? (isStarting ? this.#queue.takeNext(this.#running()) : undefined);
    if (job === undefined) this.#stop(thread);
    else this.#end(thread, job, crashed);
  }

  /** Ends the running filter together with its thread; what is left of the job goes to another one. */
  #end(thread: Thread, job: Job, result: JqResult): void {
    this.#stop(thread);
    job.results.push(result);
    if (job.results.length === job.filters.length) job.finish();
    else this.#queue.addFirst(job);
    // A successor is started even without a queue: where one filter ran, the next is soon to come.
    if (this.#queue.length > 0) this.#pump();
    else if (!this.#closed && this.#module !== undefined) this.#start(this.#module);
  }

  #release(thread: Thread): void {
    clearTimeout(thread.timer);
    thread.state = 'idle';
    thread.job = undefined;
    thread.worker.unref();
    thread.timer = setTimeout(() => this.#stop(thread), this.#idleMs).unref();
    this.#pump();
  }

  #stop(thread: Thread): void {
    clearTimeout(thread.timer);
    thread.job = undefined;
    if (!this.#threads.delete(thread)) return;
    const stopped = thread.worker.terminate().finally(() => this.#stopping.delete(stopped));
    this.#stopping.add(stopped);
  }

  #cancel(job: Job): void {
    this.#queue.remove(job);
    this.#giveUp(job, cancelled);
    const thread = [...this.#threads].find((each) => each.job === job);
    if (thread === undefined) return;
    this.#stop(thread);
    this.#pump();
  }

  #giveUp(job: Job, result: JqResult): void {
    while (job.results.length < job.filters.length) job.results.push(result);
    job.finish();
  }
}

function failed(reason: JqFailure, message: string): JqResult {
  return { ok: false, reason, message };
}
