import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** A thread or process of a pool. */
export interface PooledWorker {
  /** Sends a job; what the worker cannot be sent any more is reported by `onEnd`. */
  send(job: unknown): void;
  /** Whether it keeps this process from ending. */
  setNeeded(isNeeded: boolean): void;
  /** Ends it at once, whatever it does; resolves when it has ended. */
  stop(): Promise<unknown>;
}

export interface WorkerEvents {
  readonly onReport: (report: unknown) => void;
  /** It has ended by itself, or will be of no use any more. */
  readonly onEnd: (reason: 'crashed' | 'out_of_memory', cause: Error) => void;
}

export type StartWorker = (events: WorkerEvents) => PooledWorker;

/**
 * Starts threads. They see nothing of the process: no environment, no options, no output. A heap
 * that is full ends the thread, unless V8 needs the memory inside of one of its own functions.
 */
export function threadStarter(
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
 * Starts processes, for what may run out of memory inside of `JSON.parse`: V8 aborts the whole
 * process then, which a thread does not survive. They see no environment, input or output.
 */
export function processStarter(
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
      // How V8 ends a process whose heap is full, and the system one that takes too much.
      const isFull = signal === 'SIGABRT' || signal === 'SIGKILL';
      const cause = new Error(`the process ended with ${signal ?? code}`);
      onEnd(isFull ? 'out_of_memory' : 'crashed', cause);
    });
    return {
      // Only fails when the process has ended, which its exit tells.
      send: (job) => void child.send(job as object, () => {}),
      setNeeded(isNeeded) {
        for (const each of [child, child.channel]) {
          if (isNeeded) each?.ref();
          else each?.unref();
        }
      },
      async stop() {
        if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
        // The caller waits for the exit; nothing else may keep this process running.
        child.ref();
        const exited = once(child, 'exit');
        child.kill('SIGKILL');
        await exited;
      },
    };
  };
}
