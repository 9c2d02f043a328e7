import { afterEach, describe, expect, test } from 'vitest';

import { WorkerPool, threadStarter } from './index.ts';
import type { StartWorker } from './worker.ts';

type Step = 'echo' | 'hang' | 'throw';

/**
 * The worker's script: it answers each step with the step's name, except the step `hang`, which
 * never ends, and the step `throw`, which throws.
 */
const script = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', ({ steps }) => {
    for (const step of steps) {
      if (step === 'hang') for (;;);
      if (step === 'throw') throw new Error('a fault');
      parentPort.postMessage({ kind: 'progress', progress: step });
      parentPort.postMessage({ kind: 'result', result: step, retire: false });
    }
  });
  parentPort.postMessage({ kind: 'ready' });
`;
const createScriptedStarter = (text: string) =>
  threadStarter(new URL(`data:text/javascript,${encodeURIComponent(text)}`));

describe('a pool of worker threads', () => {
  const pools: AsyncDisposable[] = [];
  afterEach(async () => {
    await Promise.all(pools.splice(0).map((pool) => pool[Symbol.asyncDispose]()));
  });

  /** Creates a pool and counts the workers that it starts. */
  const createPool = ({ text = script, workers = 1, queueMax = 8, replaces = false } = {}) => {
    const counts = { started: 0 };
    const start = createScriptedStarter(text);
    const startCountedWorker: StartWorker = (events) => {
      counts.started += 1;
      return start(events);
    };
    const pool = new WorkerPool<Step, string, string>({
      workers,
      queueMax,
      replaces,
      prepare: () => startCountedWorker,
      createFailedResult: (reason, cause) =>
        cause === undefined ? reason : `${reason}: ${cause.message}`,
    });
    pools.push(pool);
    const run = (steps: Step[], { signal }: { signal?: AbortSignal } = {}) =>
      pool.run({ steps, input: '', timeoutMs: (step) => (step === 'hang' ? 50 : 10_000) }, signal);
    return { pool, run, counts };
  };

  test('returns the result of each step, and still runs the steps after one that hangs', async () => {
    const { run, counts } = createPool();
    expect(await run(['echo', 'hang', 'echo'])).toEqual(['echo', 'timeout', 'echo']);
    expect(counts.started).toBe(2);
  });

  test('reports that a worker crashed, and runs the next task', async () => {
    const { run } = createPool();
    expect(await run(['throw'])).toEqual(['crashed: a fault']);
    expect(await run(['echo'])).toEqual(['echo']);
  });

  test('replaces a worker that had to be stopped at once only with the option `replaces`', async () => {
    const lazyPool = createPool();
    const eagerPool = createPool({ replaces: true });
    await Promise.all([lazyPool.run(['hang']), eagerPool.run(['hang'])]);
    expect([lazyPool.counts.started, eagerPool.counts.started]).toEqual([1, 2]);
  });

  test('fails the task whose worker cannot start, and does not start a second worker for the task', async () => {
    const { run, counts } = createPool({ text: 'throw new Error("no start")', replaces: true });
    expect(await run(['echo'])).toEqual(['not_started: no start']);
    expect(counts.started).toBe(1);
  });

  test('refuses tasks that do not fit into the queue', async () => {
    const { run } = createPool({ queueMax: 4 });
    const results = await Promise.all(Array.from({ length: 6 }, () => run(['echo'])));
    expect(results.filter(([result]) => result === 'busy')).toHaveLength(2);
  });

  test('cancels a running task and a waiting task', async () => {
    const { run } = createPool();
    const controller = new AbortController();
    const { signal } = controller;
    const cancelled = [run(['hang', 'echo'], { signal }), run(['echo'], { signal })];
    controller.abort();
    expect(await Promise.all(cancelled)).toEqual([['cancelled', 'cancelled'], ['cancelled']]);
    expect(await run(['echo'])).toEqual(['echo']);
  });

  test('ends all tasks when it is closed, and refuses new ones', async () => {
    const { pool, run } = createPool();
    const pendingRuns = [run(['hang']), run(['echo'])];
    await pool[Symbol.asyncDispose]();
    expect(await Promise.all(pendingRuns)).toEqual([['closed'], ['closed']]);
    expect(await run(['echo'])).toEqual(['closed']);
  });

  test('reports when a task starts, and its progress', async () => {
    const { pool } = createPool();
    const seen: string[] = [];
    await pool.run({
      steps: ['echo', 'echo'],
      input: '',
      timeoutMs: () => 10_000,
      onStart: () => void seen.push('begins'),
      onProgress: (step) => void seen.push(step),
    });
    expect(seen).toEqual(['begins', 'echo', 'echo']);
  });
});
