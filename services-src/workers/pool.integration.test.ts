import { afterEach, describe, expect, test } from 'vitest';

import { WorkerPool, threadStarter } from './index.ts';
import type { StartWorker } from './worker.ts';

type Step = 'echo' | 'hang' | 'throw';

/** Answers each step with its name, unless the step is to do worse. */
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
const scripted = (text: string) =>
  threadStarter(new URL(`data:text/javascript,${encodeURIComponent(text)}`));

describe('a pool of workers', () => {
  const pools: AsyncDisposable[] = [];
  afterEach(async () => {
    await Promise.all(pools.splice(0).map((pool) => pool[Symbol.asyncDispose]()));
  });

  /** Counts the workers that are started. */
  const createPool = ({ text = script, workers = 1, queueMax = 8, replaces = false } = {}) => {
    const counts = { started: 0 };
    const start = scripted(text);
    const counting: StartWorker = (events) => {
      counts.started += 1;
      return start(events);
    };
    const pool = new WorkerPool<Step, string, string>({
      workers,
      queueMax,
      replaces,
      prepare: () => counting,
      failed: (reason, cause) => (cause === undefined ? reason : `${reason}: ${cause.message}`),
    });
    pools.push(pool);
    const run = (steps: Step[], { signal }: { signal?: AbortSignal } = {}) =>
      pool.run({ steps, input: '', timeoutMs: (step) => (step === 'hang' ? 50 : 10_000) }, signal);
    return { pool, run, counts };
  };

  test('gives each step its own result, and goes on after one that hangs', async () => {
    const { run, counts } = createPool();
    expect(await run(['echo', 'hang', 'echo'])).toEqual(['echo', 'timeout', 'echo']);
    expect(counts.started).toBe(2);
  });

  test('says that a worker has ended, and works on', async () => {
    const { run } = createPool();
    expect(await run(['throw'])).toEqual(['crashed: a fault']);
    expect(await run(['echo'])).toEqual(['echo']);
  });

  test('replaces a worker that had to be ended only where that is wanted', async () => {
    const lazy = createPool();
    const eager = createPool({ replaces: true });
    await Promise.all([lazy.run(['hang']), eager.run(['hang'])]);
    expect([lazy.counts.started, eager.counts.started]).toEqual([1, 2]);
  });

  test('fails the task whose worker cannot start, and tries no other one for nothing', async () => {
    const { run, counts } = createPool({ text: 'throw new Error("no start")', replaces: true });
    expect(await run(['echo'])).toEqual(['not_started: no start']);
    expect(counts.started).toBe(1);
  });

  test('refuses what does not fit into the queue', async () => {
    const { run } = createPool({ queueMax: 4 });
    const results = await Promise.all(Array.from({ length: 6 }, () => run(['echo'])));
    expect(results.filter(([result]) => result === 'busy')).toHaveLength(2);
  });

  test('gives up a task that is cancelled, waiting or under way', async () => {
    const { run } = createPool();
    const controller = new AbortController();
    const { signal } = controller;
    const cancelled = [run(['hang', 'echo'], { signal }), run(['echo'], { signal })];
    controller.abort();
    expect(await Promise.all(cancelled)).toEqual([['cancelled', 'cancelled'], ['cancelled']]);
    expect(await run(['echo'])).toEqual(['echo']);
  });

  test('gives up everything when it is closed, and takes nothing more', async () => {
    const { pool, run } = createPool();
    const given = [run(['hang']), run(['echo'])];
    await pool[Symbol.asyncDispose]();
    expect(await Promise.all(given)).toEqual([['closed'], ['closed']]);
    expect(await run(['echo'])).toEqual(['closed']);
  });

  test('reports when a task begins, and how far it is', async () => {
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
