/** Runs `task` again and again, `everyMs` after it last ended, until disposed; waits for the run in hand. `task` handles its own errors. */
export function repeat(everyMs: number, task: () => Promise<void>): Repeating {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let stopped = false;
  let again = false;

  const schedule = (delayMs: number) => {
    if (stopped) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = undefined;
      again = false;
      running = task().finally(() => schedule(again ? 0 : everyMs));
    }, delayMs);
  };
  schedule(everyMs);

  return {
    wake() {
      // During a run: once more right after it. Otherwise: now.
      again = true;
      if (timer !== undefined) schedule(0);
    },
    async [Symbol.asyncDispose]() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

export interface Repeating extends AsyncDisposable {
  /** Runs the task as soon as possible instead of at its next turn. */
  wake(): void;
}
