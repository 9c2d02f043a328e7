import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

import { WorkerPool, threadStarter } from '#workers';
import type { StepFailure } from '#workers';
import type { JqFailure, JqResult, WorkerSettings } from './protocol.ts';

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

const mebibyte = 1024 * 1024;

const outOfMemory = failed('memory', 'The filter needs too much memory.');
const failures: Record<StepFailure, JqResult> = {
  timeout: failed('timeout', 'The filter took too long.'),
  cancelled: failed('timeout', 'The call was cancelled.'),
  crashed: outOfMemory,
  out_of_memory: outOfMemory,
  not_started: outOfMemory,
  busy: failed('busy', 'Too many filters are waiting. Try again.'),
  closed: failed('busy', 'The executor is stopping.'),
};

export function createJqPool(options: JqPoolOptions = {}): JqPool {
  const { timeoutMs = 250 } = options;
  const script = new URL('worker.ts', import.meta.url);
  const pool = new WorkerPool<string, JqResult>({
    ...options,
    replaces: true,
    prepare: async () => threadStarter(script, { workerData: await loadSettings(options) }),
    failed: (reason) => failures[reason],
  });
  const runMany = (steps: readonly string[], { input, signal, ...call }: JqCall) =>
    pool.run(
      {
        steps,
        input,
        timeoutMs: () => call.timeoutMs ?? timeoutMs,
        owner: call.owner,
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
    // jq compiles first and then runs once for each value of the input, of which there is none here.
    checkSyntax: async (filter, owner) => (await runMany([filter], { input: '', owner }))[0]!,
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

/** The interpreter is compiled once; every thread gets the same machine code. */
async function loadSettings(options: JqPoolOptions): Promise<WorkerSettings> {
  const path = createRequire(import.meta.url).resolve('jq-wasm/jq.wasm');
  return {
    module: await WebAssembly.compile(await readFile(path)),
    memoryBytesMax: options.memoryBytesMax ?? 128 * mebibyte,
    memoryBytesKept: 48 * mebibyte,
    outputBytesMax: options.outputBytesMax ?? 256 * 1024,
  };
}

function failed(reason: JqFailure, message: string): JqResult {
  return { ok: false, reason, message };
}
