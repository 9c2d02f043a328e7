import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

import { WorkerPool, threadStarter } from '#workers';
import type { StepFailure } from '#workers';
import type { JqFailure, JqResult, WorkerSettings } from './protocol.ts';

export type { JqResult };

export interface JqPoolOptions {
  /**
   * The maximum number of threads. The default depends on the machine, from two to four. A thread
   * starts when it is needed and stops when it has been idle.
   */
  readonly workers?: number;
  /** The time limit of one filter, counted from the moment when its thread is ready. */
  readonly timeoutMs?: number;
  readonly outputBytesMax?: number;
  /** The maximum number of waiting calls. Further calls get the result `busy`. */
  readonly queueMax?: number;
  readonly memoryBytesMax?: number;
  readonly idleMs?: number;
}

export interface JqCall {
  /** The input as JSON text, because parsing it would round long numbers. */
  readonly input: string;
  /**
   * The user for whom the filter runs; undefined when there is none. Users take turns. One thread
   * stays free of the user whose filters fill all others.
   */
  readonly owner?: string | undefined;
  /**
   * The identity, within the user's tree, for which the filter runs. The identities of a user take
   * turns as well.
   */
  readonly identity?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

/** Runs untrusted jq filters on threads, outside the event loop, with an enforced time limit. */
export interface JqPool extends AsyncDisposable {
  run(call: JqCall & { readonly filter: string }): Promise<JqResult>;
  /**
   * Runs several filters over one input. Each filter has its own time limit and result. The results
   * have the order of the filters.
   */
  runMany(call: JqCall & { readonly filters: readonly { filter: string }[] }): Promise<JqResult[]>;
  /** Compiles a filter without giving it any data. */
  checkSyntax(filter: string, by?: Pick<JqCall, 'owner' | 'identity'>): Promise<JqResult>;
}

const mebibyte = 1024 * 1024;

const outOfMemoryResult = createFailureResult('memory', 'The filter needs too much memory.');
const resultsOfStepFailures: Record<StepFailure, JqResult> = {
  timeout: createFailureResult('timeout', 'The filter took too long.'),
  cancelled: createFailureResult('timeout', 'The call was cancelled.'),
  crashed: outOfMemoryResult,
  out_of_memory: outOfMemoryResult,
  not_started: outOfMemoryResult,
  busy: createFailureResult('busy', 'Too many filters are waiting. Try again.'),
  closed: createFailureResult('busy', 'The executor is stopping.'),
};

export function createJqPool(options: JqPoolOptions = {}): JqPool {
  const { timeoutMs = 250 } = options;
  const workerUrl = new URL('worker.ts', import.meta.url);
  const pool = new WorkerPool<string, JqResult>({
    ...options,
    replaces: true,
    prepare: async () => threadStarter(workerUrl, { workerData: await loadSettings(options) }),
    createFailedResult: (reason) => resultsOfStepFailures[reason],
  });
  const runMany = (steps: readonly string[], { input, signal, ...call }: JqCall) =>
    pool.run(
      {
        steps,
        input,
        timeoutMs: () => call.timeoutMs ?? timeoutMs,
        owner: call.owner,
        identity: call.identity,
      },
      signal,
    );
  return {
    run: async ({ filter, ...call }) => (await runMany([filter], call))[0]!,
    runMany: ({ filters, ...call }) =>
      runMany(
        filters.map(({ filter }) => filter),
        call,
      ),
    // jq compiles the filter and then runs it once for each input value. The input is empty, so jq
    // only compiles.
    checkSyntax: async (filter, by) => (await runMany([filter], { ...by, input: '' }))[0]!,
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

/** Compiles the interpreter once for all threads. */
async function loadSettings(options: JqPoolOptions): Promise<WorkerSettings> {
  const path = createRequire(import.meta.url).resolve('jq-wasm/jq.wasm');
  return {
    module: await WebAssembly.compile(await readFile(path)),
    memoryBytesMax: options.memoryBytesMax ?? 128 * mebibyte,
    memoryBytesKept: 48 * mebibyte,
    outputBytesMax: options.outputBytesMax ?? 256 * 1024,
  };
}

function createFailureResult(reason: JqFailure, message: string): JqResult {
  return { ok: false, reason, message };
}
