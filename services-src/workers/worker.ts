import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** A worker of a pool: a thread or a process. */
export interface PooledWorker {
  /** Sends a job. When the worker has already ended, `onEnd` reports it and the job is lost. */
  send(job: unknown): void;
  /** Sets whether the worker keeps this process from exiting. */
  setNeeded(isNeeded: boolean): void;
  /** Stops the worker at once, even in the middle of a job; resolves when it has ended. */
  stop(): Promise<unknown>;
}

export interface WorkerEvents {
  readonly onReport: (report: unknown) => void;
  /** Called when the worker has ended by itself, or can do no more work. */
  readonly onEnd: (reason: 'crashed' | 'out_of_memory', cause: Error) => void;
}

export type StartWorker = (events: WorkerEvents) => PooledWorker;

/**
 * Starts threads. They inherit nothing from the process: no environment, options or output. A full
 * heap ends only the thread, unless V8 runs out of memory inside one of its own functions.
 */
export function createThreadStarter(
  script: URL,
  {
    heapMib = 64,
    youngMib = 8,
    workerData,
  }: { heapMib?: number | undefined; youngMib?: number; workerData?: unknown } = {},
): StartWorker {
  return ({ onReport, onEnd }) => {
    const worker = new Worker(script, {
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: heapMib, maxYoungGenerationSizeMb: youngMib },
      workerData,
    });
    worker.stdout.resume();
    worker.stderr.resume();
    worker.on('message', onReport);
    worker.on('error', (error: Error & { code?: string }) =>
      onEnd(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'out_of_memory' : 'crashed', error),
    );
    worker.on('exit', (code) => onEnd('crashed', new Error(`the thread ended with ${code}`)));
    return {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      send: (job) => worker.postMessage(job),
      setNeeded: (isNeeded) => (isNeeded ? worker.ref() : worker.unref()),
      stop: () => worker.terminate(),
    };
  };
}

/**
 * Starts child processes, for work that may run out of memory inside `JSON.parse`. V8 then aborts
 * the whole process that runs it, which would be this process if a thread ran it. The child
 * processes get no environment, input or output.
 */
export function createProcessStarter(
  script: URL,
  { heapMib, execArgv = [] }: { heapMib: number; execArgv?: readonly string[] },
): StartWorker {
  return ({ onReport, onEnd }) => {
    const child = fork(script, {
      env: {},
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      execArgv: [`--max-old-space-size=${heapMib}`, '--max-semi-space-size=16', ...execArgv],
      serialization: 'advanced',
    });
    child.on('message', onReport);
    child.on('error', (error) => onEnd('crashed', error));
    child.on('exit', (code, signal) => {
      // V8 ends a process whose heap is full by SIGABRT; the operating system kills a process that
      // takes too much memory by SIGKILL.
      const isOutOfMemory = signal === 'SIGABRT' || signal === 'SIGKILL';
      const cause = new Error(`the process ended with ${signal ?? code}`);
      onEnd(isOutOfMemory ? 'out_of_memory' : 'crashed', cause);
    });
    return {
      // Sending fails only when the process has ended, and `exit` reports that.
      send: (job) => void child.send(job as object, () => {}),
      setNeeded(isNeeded) {
        for (const each of [child, child.channel]) {
          if (isNeeded) each?.ref();
          else each?.unref();
        }
      },
      async stop() {
        if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
        // The caller waits for the exit, so the child must keep this process running until then.
        child.ref();
        const exitEvent = once(child, 'exit');
        child.kill('SIGKILL');
        await exitEvent;
      },
    };
  };
}
