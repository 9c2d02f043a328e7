import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

import { Turns } from './turns.ts';

/** Why a step has no result of its own. */
export type StepFailure = 'timeout' | 'cancelled' | 'crashed' | 'busy';

/** What a thread reports; the result of each step by itself, so that the pool can tell which one hangs. */
export type ThreadReport<Result> =
  | { readonly kind: 'ready' }
  /** After `retire` the thread does nothing more. */
  | { readonly kind: 'result'; readonly result: Result; readonly retire: boolean };

/** Steps over one input; each has its own deadline and its own result, in their order. */
export interface ThreadTask<Step> {
  readonly steps: readonly Step[];
  readonly input: string;
  /** Wall time of a step, on a thread that is up and running. */
  readonly timeoutMs: (step: Step) => number;
  /** Whom it is for: each takes its turn, and one thread stays free of whoever fills the others. */
  readonly owner: unknown;
}

/** What a thread is sent. */
export type ThreadJob<Step> = Pick<ThreadTask<Step>, 'steps' | 'input'>;

export interface ThreadPoolOptions<Result> {
  /** Its module answers `ready`, and then each `ThreadJob` with a report per step. */
  readonly script: URL;
  /** What every thread is given when it starts; loaded once. */
  readonly load: () => Promise<unknown>;
  readonly failed: (reason: StepFailure) => Result;
  /** Threads at most, by default two to four. Each is started when needed and stopped when idle. */
  readonly workers?: number | undefined;
  /** Tasks that wait for a thread; more are refused as `busy`. */
  readonly queueMax?: number | undefined;
  /** How long a task may wait for its turn, then it is `busy`: nobody needs its result any more. */
  readonly waitMs?: number | undefined;
  readonly heapMib?: number | undefined;
  readonly idleMs?: number | undefined;
}

interface Job<Step, Result> extends ThreadTask<Step> {
  readonly results: Result[];
  finish(): void;
}

interface Thread<Step, Result> {
  readonly worker: Worker;
  state: 'starting' | 'idle' | 'busy';
  job: Job<Step, Result> | undefined;
  timer: NodeJS.Timeout | undefined;
}

const startMs = 10_000;

/** Runs what may never end away from the event loop, with a deadline that holds. */
export class ThreadPool<Step, Result> implements AsyncDisposable {
  readonly #options: ThreadPoolOptions<Result>;
  readonly #workersMax: number;
  readonly #threads = new Set<Thread<Step, Result>>();
  readonly #stopping = new Set<Promise<unknown>>();
  readonly #queue: Turns<Job<Step, Result>>;
  #loaded: { readonly workerData: unknown } | undefined;
  #loading: Promise<void> | undefined;
  #closed = false;

  constructor(options: ThreadPoolOptions<Result>) {
    const { queueMax = 256 } = options;
    this.#options = options;
    this.#workersMax = options.workers ?? Math.min(4, Math.max(2, availableParallelism()));
    this.#queue = new Turns({
      runningMaxPerOwner: Math.max(1, this.#workersMax - 1),
      waitingMax: queueMax,
      waitingMaxPerOwner: Math.ceil(queueMax / 4),
    });
  }

  /** A result for each step, in their order. */
  async run(task: ThreadTask<Step>, signal?: AbortSignal): Promise<Result[]> {
    const all = (reason: StepFailure) => task.steps.map(() => this.#options.failed(reason));
    if (task.steps.length === 0) return [];
    if (signal?.aborted) return all('cancelled');
    if (this.#closed || !this.#queue.hasRoomFor(task.owner)) return all('busy');
    const { promise, resolve } = Promise.withResolvers<Result[]>();
    const job: Job<Step, Result> = { ...task, results: [], finish: () => resolve(job.results) };
    const onAbort = () => this.#cancel(job);
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#queue.add(job);
    const { waitMs } = this.#options;
    const waited = waitMs === undefined ? undefined : setTimeout(() => this.#onWaited(job), waitMs);
    await this.#load();
    this.#pump();
    try {
      return await promise;
    } finally {
      clearTimeout(waited);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    for (const job of this.#queue.removeAll()) this.#giveUp(job, 'busy');
    for (const thread of this.#threads) {
      if (thread.job) this.#giveUp(thread.job, 'busy');
      this.#stop(thread);
    }
    await Promise.all(this.#stopping);
  }

  async #load(): Promise<void> {
    this.#loading ??= (async () => {
      this.#loaded = { workerData: await this.#options.load() };
    })();
    await this.#loading;
  }

  #pump(): void {
    if (this.#closed || this.#loaded === undefined) return;
    for (const thread of this.#threads) {
      if (thread.state !== 'idle') continue;
      const job = this.#queue.takeNext(this.#running());
      if (job === undefined) return;
      this.#assign(thread, job);
    }
    const starting = [...this.#threads].filter(({ state }) => state === 'starting').length;
    const ready = this.#queue.countReady(this.#running());
    const wanted = Math.min(ready - starting, this.#workersMax - this.#threads.size);
    for (let n = 0; n < wanted; n += 1) this.#start(this.#loaded.workerData);
  }

  #running(): Job<Step, Result>[] {
    return [...this.#threads].flatMap(({ job }) => job ?? []);
  }

  #start(workerData: unknown): void {
    const { script, heapMib = 64 } = this.#options;
    const worker = new Worker(script, {
      // Nothing of the process is its business: no environment, no options, no output.
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: heapMib, maxYoungGenerationSizeMb: 8 },
      workerData,
    });
    worker.stdout.resume();
    worker.stderr.resume();
    const thread: Thread<Step, Result> = {
      ...{ worker, job: undefined, timer: undefined },
      state: 'starting',
    };
    this.#threads.add(thread);
    worker.on('message', (report: ThreadReport<Result>) => {
      if (!this.#threads.has(thread)) return;
      if (report.kind === 'ready') this.#release(thread);
      else this.#onResult(thread, report);
    });
    thread.timer = setTimeout(() => this.#onCrash(thread), startMs).unref();
    worker.on('error', () => this.#onCrash(thread));
    worker.on('exit', () => this.#onCrash(thread));
  }

  #assign(thread: Thread<Step, Result>, job: Job<Step, Result>): void {
    clearTimeout(thread.timer);
    thread.state = 'busy';
    thread.job = job;
    thread.worker.ref();
    const steps = job.steps.slice(job.results.length);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    thread.worker.postMessage({ steps, input: job.input } satisfies ThreadJob<Step>);
    this.#startClock(thread, job);
  }

  #startClock(thread: Thread<Step, Result>, job: Job<Step, Result>): void {
    const done = job.results.length;
    thread.timer = setTimeout(() => {
      // Our own event loop may be what was late: let a result that is already here be read first.
      setImmediate(() => {
        if (thread.job === job && job.results.length === done) this.#end(thread, job, 'timeout');
      });
    }, job.timeoutMs(job.steps[done]!));
  }

  #onResult(
    thread: Thread<Step, Result>,
    { result, retire }: ThreadReport<Result> & { kind: 'result' },
  ): void {
    const { job } = thread;
    if (job === undefined) return;
    job.results.push(result);
    if (retire) return this.#replace(thread, job);
    clearTimeout(thread.timer);
    if (job.results.length < job.steps.length) return this.#startClock(thread, job);
    job.finish();
    this.#release(thread);
  }

  #onWaited(job: Job<Step, Result>): void {
    if (this.#running().includes(job) || job.results.length > 0) return;
    this.#queue.remove(job);
    this.#giveUp(job, 'busy');
  }

  /** The thread has become useless for everybody, by its fault or ours. */
  #onCrash(thread: Thread<Step, Result>): void {
    if (!this.#threads.has(thread)) return;
    // One that cannot even start takes a waiting task with it, or the queue would never move.
    const isStarting = thread.state === 'starting';
    const job = thread.job ?? (isStarting ? this.#queue.takeNext(this.#running()) : undefined);
    if (job === undefined) this.#stop(thread);
    else this.#end(thread, job, 'crashed');
  }

  /** Ends the running step together with its thread. */
  #end(thread: Thread<Step, Result>, job: Job<Step, Result>, reason: StepFailure): void {
    job.results.push(this.#options.failed(reason));
    this.#replace(thread, job);
  }

  /** What is left of the job goes to another thread. */
  #replace(thread: Thread<Step, Result>, job: Job<Step, Result>): void {
    this.#stop(thread);
    if (job.results.length === job.steps.length) job.finish();
    else this.#queue.addFirst(job);
    // A successor is started even without a queue: where one task ran, the next is soon to come.
    if (this.#queue.length > 0) this.#pump();
    else if (!this.#closed && this.#loaded !== undefined) this.#start(this.#loaded.workerData);
  }

  #release(thread: Thread<Step, Result>): void {
    clearTimeout(thread.timer);
    thread.state = 'idle';
    thread.job = undefined;
    thread.worker.unref();
    thread.timer = setTimeout(() => this.#stop(thread), this.#options.idleMs ?? 30_000).unref();
    this.#pump();
  }

  #stop(thread: Thread<Step, Result>): void {
    clearTimeout(thread.timer);
    thread.job = undefined;
    if (!this.#threads.delete(thread)) return;
    const stopped = thread.worker.terminate().finally(() => this.#stopping.delete(stopped));
    this.#stopping.add(stopped);
  }

  #cancel(job: Job<Step, Result>): void {
    this.#queue.remove(job);
    this.#giveUp(job, 'cancelled');
    const thread = [...this.#threads].find((each) => each.job === job);
    if (thread === undefined) return;
    this.#stop(thread);
    this.#pump();
  }

  #giveUp(job: Job<Step, Result>, reason: StepFailure): void {
    while (job.results.length < job.steps.length) job.results.push(this.#options.failed(reason));
    job.finish();
  }
}
