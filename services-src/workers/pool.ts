import { availableParallelism } from 'node:os';

import { Turns } from './turns.ts';
import type { PooledWorker, StartWorker } from './worker.ts';

/** Why a step has no result of its own. */
export type StepFailure =
  | 'timeout'
  | 'cancelled'
  | 'crashed'
  | 'out_of_memory'
  | 'not_started'
  | 'busy'
  | 'closed';

/** What a worker reports; the result of each step by itself, so that the pool can tell which one hangs. */
export type WorkerReport<Result, Progress = never> =
  | { readonly kind: 'ready' }
  | { readonly kind: 'progress'; readonly progress: Progress }
  /** After `retire` the worker does nothing more. */
  | { readonly kind: 'result'; readonly result: Result; readonly retire: boolean };

/** Steps over one input; each has its own deadline and its own result, in their order. */
export interface WorkerTask<Step, Progress = never> {
  readonly steps: readonly Step[];
  readonly input: string;
  /** Wall time of a step, on a worker that is up and running. */
  readonly timeoutMs: (step: Step) => number;
  /** Owners take turns, and no owner gets all workers. A task without one is an owner by itself. */
  readonly owner?: unknown;
  /** Its turn has come. */
  readonly onStart?: (() => void) | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** What a worker is sent. */
export type WorkerJob<Step> = Pick<WorkerTask<Step>, 'steps' | 'input'>;

export interface WorkerPoolOptions<Result> {
  /** Called once, before the first task. The script answers `ready`, and each `WorkerJob` with a report per step. */
  readonly prepare: () => Promise<StartWorker> | StartWorker;
  /** The result of a step that has none of its own; `cause` when the worker ended by itself. */
  readonly failed: (reason: StepFailure, cause?: Error) => Result;
  /** Workers at most, by default two to four. Each is started when needed and stopped when idle. */
  readonly workers?: number | undefined;
  /** Tasks that wait for a worker; more are refused as `busy`. */
  readonly queueMax?: number | undefined;
  /** How long a task may wait for its turn, then it is `busy`: nobody needs its result any more. */
  readonly waitMs?: number | undefined;
  readonly idleMs?: number | undefined;
  /** A worker that had to be ended is replaced at once: where one task ran, the next is soon to come. */
  readonly replaces?: boolean;
}

interface Job<Step, Result, Progress> extends WorkerTask<Step, Progress> {
  readonly owner: unknown;
  readonly results: Result[];
  finish(): void;
}

interface Member<AnyJob> {
  readonly worker: PooledWorker;
  state: 'starting' | 'idle' | 'busy';
  job: AnyJob | undefined;
  timer: NodeJS.Timeout | undefined;
}

const startMs = 20_000;

/** Runs what may never end away from the event loop, with a deadline that holds. */
export class WorkerPool<Step, Result, Progress = never> implements AsyncDisposable {
  readonly #options: WorkerPoolOptions<Result>;
  readonly #workersMax: number;
  readonly #members = new Set<Member<Job<Step, Result, Progress>>>();
  readonly #stopping = new Set<Promise<unknown>>();
  readonly #queue: Turns<Job<Step, Result, Progress>>;
  #startWorker: StartWorker | undefined;
  #preparing: Promise<void> | undefined;
  #closed = false;

  constructor(options: WorkerPoolOptions<Result>) {
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
  async run(task: WorkerTask<Step, Progress>, signal?: AbortSignal): Promise<Result[]> {
    const all = (reason: StepFailure) => task.steps.map(() => this.#options.failed(reason));
    if (task.steps.length === 0) return [];
    if (signal?.aborted) return all('cancelled');
    if (this.#closed) return all('closed');
    if (!this.#queue.hasRoomFor(task.owner)) return all('busy');
    const { promise, resolve } = Promise.withResolvers<Result[]>();
    const owner = task.owner ?? Symbol('a task of its own');
    const job = { ...task, owner, results: [] as Result[], finish: () => resolve(job.results) };
    const onAbort = () => this.#cancel(job);
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#queue.add(job);
    const { waitMs } = this.#options;
    const waited = waitMs === undefined ? undefined : setTimeout(() => this.#onWaited(job), waitMs);
    await this.#prepare();
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
    for (const job of this.#queue.removeAll()) this.#giveUp(job, 'closed');
    for (const member of this.#members) {
      if (member.job) this.#giveUp(member.job, 'closed');
      this.#stop(member);
    }
    await Promise.all(this.#stopping);
  }

  async #prepare(): Promise<void> {
    this.#preparing ??= (async () => {
      this.#startWorker = await this.#options.prepare();
    })();
    await this.#preparing;
  }

  #pump(): void {
    if (this.#closed || this.#startWorker === undefined) return;
    for (const member of this.#members) {
      if (member.state !== 'idle') continue;
      const job = this.#queue.takeNext(this.#running());
      if (job === undefined) return;
      this.#assign(member, job);
    }
    const starting = [...this.#members].filter(({ state }) => state === 'starting').length;
    const ready = this.#queue.countReady(this.#running());
    const wanted = Math.min(ready - starting, this.#workersMax - this.#members.size);
    for (let n = 0; n < wanted; n += 1) this.#start(this.#startWorker);
  }

  #running(): Job<Step, Result, Progress>[] {
    return [...this.#members].flatMap(({ job }) => job ?? []);
  }

  #start(startWorker: StartWorker): void {
    const onEnd = (reason: 'crashed' | 'out_of_memory', cause: Error) => {
      this.#onCrash(member, reason, cause);
    };
    const onReport = (report: unknown) =>
      this.#onReport(member, report as WorkerReport<Result, Progress>);
    const member: Member<Job<Step, Result, Progress>> = {
      worker: startWorker({ onReport, onEnd }),
      state: 'starting',
      job: undefined,
      timer: setTimeout(() => onEnd('crashed', new Error('a worker did not start')), startMs),
    };
    member.timer?.unref();
    this.#members.add(member);
  }

  #assign(member: Member<Job<Step, Result, Progress>>, job: Job<Step, Result, Progress>): void {
    clearTimeout(member.timer);
    member.state = 'busy';
    member.job = job;
    member.worker.setNeeded(true);
    const steps = job.steps.slice(job.results.length);
    member.worker.send({ steps, input: job.input } satisfies WorkerJob<Step>);
    job.onStart?.();
    this.#startClock(member, job);
  }

  #startClock(member: Member<Job<Step, Result, Progress>>, job: Job<Step, Result, Progress>): void {
    const done = job.results.length;
    member.timer = setTimeout(() => {
      // Our own event loop may be what was late: let a result that is already here be read first.
      setImmediate(() => {
        if (member.job === job && job.results.length === done) this.#end(member, job, 'timeout');
      });
    }, job.timeoutMs(job.steps[done]!));
  }

  #onReport(
    member: Member<Job<Step, Result, Progress>>,
    report: WorkerReport<Result, Progress>,
  ): void {
    if (!this.#members.has(member)) return;
    if (report.kind === 'ready') return this.#release(member);
    const { job } = member;
    if (job === undefined) return;
    if (report.kind === 'progress') return job.onProgress?.(report.progress);
    job.results.push(report.result);
    if (report.retire) return this.#replace(member, job);
    clearTimeout(member.timer);
    if (job.results.length < job.steps.length) return this.#startClock(member, job);
    job.finish();
    this.#release(member);
  }

  #onWaited(job: Job<Step, Result, Progress>): void {
    if (this.#running().includes(job) || job.results.length > 0) return;
    this.#queue.remove(job);
    this.#giveUp(job, 'busy');
  }

  /** The worker has become useless for everybody, by its fault or ours. */
  #onCrash(
    member: Member<Job<Step, Result, Progress>>,
    reason: 'crashed' | 'out_of_memory',
    cause: Error,
  ): void {
    if (!this.#members.has(member)) return;
    // One that cannot even start takes a waiting task with it, or the queue would never move.
    const isStarting = member.state === 'starting';
    const job = member.job ?? (isStarting ? this.#queue.takeNext(this.#running()) : undefined);
    if (job === undefined) this.#stop(member);
    else this.#end(member, job, isStarting ? 'not_started' : reason, cause);
  }

  /** Ends the running step together with its worker. */
  #end(
    member: Member<Job<Step, Result, Progress>>,
    job: Job<Step, Result, Progress>,
    ...why: [reason: StepFailure, cause?: Error]
  ): void {
    job.results.push(this.#options.failed(...why));
    this.#replace(member, job);
  }

  /** What is left of the job goes to another worker. */
  #replace(member: Member<Job<Step, Result, Progress>>, job: Job<Step, Result, Progress>): void {
    this.#stop(member);
    if (job.results.length === job.steps.length) job.finish();
    else this.#queue.addFirst(job);
    if (this.#queue.length > 0) this.#pump();
    else if (this.#options.replaces === true && member.state !== 'starting' && !this.#closed) {
      if (this.#startWorker !== undefined) this.#start(this.#startWorker);
    }
  }

  #release(member: Member<Job<Step, Result, Progress>>): void {
    clearTimeout(member.timer);
    member.state = 'idle';
    member.job = undefined;
    member.worker.setNeeded(false);
    member.timer = setTimeout(() => this.#stop(member), this.#options.idleMs ?? 30_000).unref();
    this.#pump();
  }

  #stop(member: Member<Job<Step, Result, Progress>>): void {
    clearTimeout(member.timer);
    member.job = undefined;
    if (!this.#members.delete(member)) return;
    const stopped = member.worker
      .stop()
      .catch(() => undefined)
      .finally(() => this.#stopping.delete(stopped));
    this.#stopping.add(stopped);
  }

  #cancel(job: Job<Step, Result, Progress>): void {
    this.#queue.remove(job);
    this.#giveUp(job, 'cancelled');
    const member = [...this.#members].find((each) => each.job === job);
    if (member === undefined) return;
    this.#stop(member);
    this.#pump();
  }

  #giveUp(job: Job<Step, Result, Progress>, reason: StepFailure): void {
    while (job.results.length < job.steps.length) job.results.push(this.#options.failed(reason));
    job.finish();
  }
}
