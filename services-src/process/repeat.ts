import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Runs `task` repeatedly, each time `everyMs` after the previous run ended. Disposing waits for the
 * current run. `task` must handle its own errors. It runs outside of the request or trace that
 * wakes it, because it works for all of them.
 */
export function repeat(everyMs: number, task: () => Promise<void>): Repeating {
  const runInOwnContext = AsyncLocalStorage.snapshot();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let isStopped = false;
  let isRunAgainNeeded = false;

  const schedule = (delayMs: number) => {
    if (isStopped) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = undefined;
      isRunAgainNeeded = false;
      running = runInOwnContext(task).finally(() => schedule(isRunAgainNeeded ? 0 : everyMs));
    }, delayMs);
  };
  schedule(everyMs);

  return {
    wake() {
      // When a run is in progress, `wake` causes one more run right after it; otherwise it starts
      // one.
      isRunAgainNeeded = true;
      if (timer !== undefined) schedule(0);
    },
    async [Symbol.asyncDispose]() {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

export interface Repeating extends AsyncDisposable {
  /** Runs the task as soon as possible instead of after the interval. */
  wake(): void;
}
