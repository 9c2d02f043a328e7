import { availableParallelism } from 'node:os';

import { FairQueue } from './fair-queue.ts';
import type { PooledWorker, StartWorker } from './worker.ts';

/** Why a step got no result from a worker. */
export type StepFailure =
  | 'timeout'
  | 'cancelled'
  | 'crashed'
  | 'out_of_memory'
  | 'not_started'
  | 'busy'
  | 'closed';

/**
 * A message from a worker. Each step's result is a separate message, so that the pool knows which
 * step hangs.
 */
export type WorkerReport<Result, Progress = never> =
  | { readonly kind: 'ready' }
  | { readonly kind: 'progress'; readonly progress: Progress }
  /** With `retire`, the worker takes no further jobs after this result. */
  | { readonly kind: 'result'; readonly result: Result; readonly retire: boolean };

/**
 * A list of steps that run over one input. Each step has its own deadline and its own result;
 * results keep the order of the steps.
 */
export interface WorkerTask<Step, Progress = never> {
  readonly steps: readonly Step[];
  readonly input: string;
  /** The wall time that a step may take, not counting the start of the worker. */
  readonly timeoutMs: (step: Step) => number;
  /**
   * The party that the task is for. Owners take turns, and no owner gets all workers. A task
   * without an owner counts as an owner by itself.
   */
  readonly owner?: unknown;
  /** The one of the owner's identities that the task is for; they take turns among each other. */
  readonly identity?: string | undefined;
  /** Called when the task starts on a worker. */
  readonly onStart?: (() => void) | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** The message that starts a task on a worker. */
export type WorkerJob<Step> = Pick<WorkerTask<Step>, 'steps' | 'input'>;

export interface WorkerPoolOptions<Result> {
  /**
   * Called once, before the first task. Returns the function that starts a worker. The worker's
   * script must send `ready` when it has started, and then answer each `WorkerJob` with one report
   * per step.
   */
  readonly prepare: () => Promise<StartWorker> | StartWorker;
  /**
   * Creates the result of a step for which no worker gave one; `cause` is set when the worker ended
   * by itself.
   */
  readonly createFailedResult: (reason: StepFailure, cause?: Error) => Result;
  /**
   * The most workers at a time, two to four by default. A worker is started when needed and stopped
   * when idle.
   */
  readonly workers?: number | undefined;
  /** The most tasks that wait for a worker; further tasks fail as `busy`. */
  readonly queueMax?: number | undefined;
  /**
   * How long a task may wait for a worker. After that it fails as `busy`, because its caller no
   * longer needs the result.
   */
  readonly waitMs?: number | undefined;
  readonly idleMs?: number | undefined;
  /** Whether a worker that had to be stopped is replaced at once, before the next task comes. */
  readonly replaces?: boolean;
}

interface Job<Step, Result, Progress> extends WorkerTask<Step, Progress> {
  readonly owner: unknown;
  readonly results: Result[];
  finish(): void;
}

interface PoolMember<AnyJob> {
  readonly worker: PooledWorker;
  state: 'starting' | 'idle' | 'busy';
  job: AnyJob | undefined;
  timer: NodeJS.Timeout | undefined;
}

const startMsMax = 20_000;

/**
 * Runs code that may never end on workers outside this event loop, and stops it at its deadline.
 */
export class WorkerPool<Step, Result, Progress = never> implements AsyncDisposable {
  readonly #options: WorkerPoolOptions<Result>;
  readonly #workersMax: number;
  readonly #members = new Set<PoolMember<Job<Step, Result, Progress>>>();
  readonly #stopping = new Set<Promise<unknown>>();
  readonly #queue: FairQueue<Job<Step, Result, Progress>>;
  #startWorker: StartWorker | undefined;
  #preparing: Promise<void> | undefined;
  #closed = false;

  constructor(options: WorkerPoolOptions<Result>) {
    const { queueMax = 256 } = options;
    this.#options = options;
    this.#workersMax = options.workers ?? Math.min(4, Math.max(2, availableParallelism()));
    this.#queue = new FairQueue({
      runningMaxPerOwner: Math.max(1, this.#workersMax - 1),
      waitingMax: queueMax,
      waitingMaxPerOwner: Math.ceil(queueMax / 4),
    });
  }

  /** Returns one result per step, in the order of the steps. */
  async run(task: WorkerTask<Step, Progress>, signal?: AbortSignal): Promise<Result[]> {
    const failAllSteps = (reason: StepFailure) =>
      task.steps.map(() => this.#options.createFailedResult(reason));
    if (task.steps.length === 0) return [];
    if (signal?.aborted) return failAllSteps('cancelled');
    if (this.#closed) return failAllSteps('closed');
    if (!this.#queue.hasRoomFor(task.owner, task.identity)) return failAllSteps('busy');
    const { promise, resolve } = Promise.withResolvers<Result[]>();
    const owner = task.owner ?? Symbol('a task of its own');
    const job = { ...task, owner, results: [] as Result[], finish: () => resolve(job.results) };
    const onAbort = () => this.#cancel(job);
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#queue.add(job);
    const { waitMs } = this.#options;
    const waitTimer =
      waitMs === undefined ? undefined : setTimeout(() => this.#onWaited(job), waitMs);
    await this.#prepare();
    this.#pump();
    try {
      return await promise;
    } finally {
      clearTimeout(waitTimer);
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
    const startingCount = [...this.#members].filter(({ state }) => state === 'starting').length;
    const readyCount = this.#queue.countReady(this.#running());
    const wantedStarts = Math.min(
      readyCount - startingCount,
      this.#workersMax - this.#members.size,
    );
    for (let n = 0; n < wantedStarts; n += 1) this.#start(this.#startWorker);
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
    const member: PoolMember<Job<Step, Result, Progress>> = {
      worker: startWorker({ onReport, onEnd }),
      state: 'starting',
      job: undefined,
      timer: setTimeout(() => onEnd('crashed', new Error('a worker did not start')), startMsMax),
    };
    member.timer?.unref();
    this.#members.add(member);
  }

  #assign(member: PoolMember<Job<Step, Result, Progress>>, job: Job<Step, Result, Progress>): void {
    clearTimeout(member.timer);
    member.state = 'busy';
    member.job = job;
    member.worker.setNeeded(true);
    const steps = job.steps.slice(job.results.length);
    member.worker.send({ steps, input: job.input } satisfies WorkerJob<Step>);
    job.onStart?.();
    this.#startClock(member, job);
  }

  #startClock(
    member: PoolMember<Job<Step, Result, Progress>>,
    job: Job<Step, Result, Progress>,
  ): void {
    const doneCount = job.results.length;
    member.timer = setTimeout(() => {
      // This process may itself be late: a result that has already arrived must be read before the
      // step counts as timed out.
      setImmediate(() => {
        if (member.job === job && job.results.length === doneCount)
          this.#end(member, job, 'timeout');
      });
    }, job.timeoutMs(job.steps[doneCount]!));
  }

  #onReport(
    member: PoolMember<Job<Step, Result, Progress>>,
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

  /** Handles a worker that has ended by itself or can do no more work. */
  #onCrash(
    member: PoolMember<Job<Step, Result, Progress>>,
    reason: 'crashed' | 'out_of_memory',
    cause: Error,
  ): void {
    if (!this.#members.has(member)) return;
    // A worker that cannot start fails a waiting task. Otherwise the queue would never advance.
    const isStarting = member.state === 'starting';
    const job = member.job ?? (isStarting ? this.#queue.takeNext(this.#running()) : undefined);
    if (job === undefined) this.#stop(member);
    else this.#end(member, job, isStarting ? 'not_started' : reason, cause);
  }

  /** Fails the running step and stops its worker. */
  #end(
    member: PoolMember<Job<Step, Result, Progress>>,
    job: Job<Step, Result, Progress>,
    ...reason: [reason: StepFailure, cause?: Error]
  ): void {
    job.results.push(this.#options.createFailedResult(...reason));
    this.#replace(member, job);
  }

  /** Stops the worker and gives the job's remaining steps to another one. */
  #replace(
    member: PoolMember<Job<Step, Result, Progress>>,
    job: Job<Step, Result, Progress>,
  ): void {
    this.#stop(member);
    if (job.results.length === job.steps.length) job.finish();
    else this.#queue.addFirst(job);
    if (this.#queue.length > 0) this.#pump();
    else if (this.#options.replaces === true && member.state !== 'starting' && !this.#closed) {
      if (this.#startWorker !== undefined) this.#start(this.#startWorker);
    }
  }

  #release(member: PoolMember<Job<Step, Result, Progress>>): void {
    clearTimeout(member.timer);
    member.state = 'idle';
    member.job = undefined;
    member.worker.setNeeded(false);
    member.timer = setTimeout(() => this.#stop(member), this.#options.idleMs ?? 30_000).unref();
    this.#pump();
  }

  #stop(member: PoolMember<Job<Step, Result, Progress>>): void {
    clearTimeout(member.timer);
    member.job = undefined;
    if (!this.#members.delete(member)) return;
    const workerExit = member.worker
      .stop()
      .catch(() => undefined)
      .finally(() => this.#stopping.delete(workerExit));
    this.#stopping.add(workerExit);
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
    while (job.results.length < job.steps.length)
      job.results.push(this.#options.createFailedResult(reason));
    job.finish();
  }
}
