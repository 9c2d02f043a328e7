import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { AppError } from '#errors';
import { context, createWorld, options, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

/**
 * The number of calls; `npm run test:hostile` makes a hundred. Every second call to an upstream is
 * a POST.
 */
const callsPerUpstream = Number(process.env['HOSTILE_CALLS'] ?? 4);
const concurrentCallsMax = 20;
const mebibyte = 1024 * 1024;

const cleanup = new AsyncDisposableStack();
let world: World;
let executor: ChildProcess;
let urlsByName: Record<string, string>;

/**
 * Starts a program as its own process, so that its memory is measured separately. Disposing the
 * result kills the process.
 */
function startProgram(args: string[], environment: NodeJS.ProcessEnv): ChildProcess {
  const child = spawn(process.execPath, args, {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  cleanup.defer(() => void child.kill('SIGKILL'));
  return child;
}

beforeAll(async () => {
  world = cleanup.use(await createWorld());
  await world.stopExecutor();
  const { PATH } = process.env;
  // The flags that `npm start` gives to Node.
  const flags = [
    '--no-parallel-scavenge',
    '--max-semi-space-size=16',
    '--min-semi-space-size=16',
    '--max-old-space-size=960',
  ];
  executor = startProgram([...flags, 'executor/main.ts'], { PATH, ...world.variables });
  const upstreams = startProgram(['executor/hostile/upstreams.testing.ts'], { PATH });
  const [line] = (await once(createInterface(upstreams.stdout!), 'line')) as [string];
  urlsByName = JSON.parse(line) as Record<string, string>;
});
afterAll(() => cleanup.disposeAsync());

/**
 * The results that a caller may get for a read and for a write. Any other result is a defect of the
 * executor. `store_…` is among them because on a fast machine the answers of many orgs fill the
 * file store.
 */
const read = /^(called|upstream_(unreachable|timeout|incomplete)|response_too_large|store_full)$/;
const nonRead = /^(called|outcome_unknown|upstream_(unreachable|timeout))$/;

interface Outcome {
  readonly method: string;
  readonly resultCode: string;
  readonly omitted: string | undefined;
}

async function callUpstream(url: string, method: 'GET' | 'POST'): Promise<Outcome> {
  const rawUrlCall = world.rawCall({ target: url, method });
  const { host } = new URL(url);
  // Each call has its own org, because the circuit breaker of a single org would open after five
  // calls.
  const permit = world.permitOf(rawUrlCall, {
    orgId: randomUUID(),
    hosts: [host],
    keys: [`http:${method}:${host}/raw`],
  });
  const request = { permit, call: rawUrlCall, options: { ...options, timeoutMs: 700 }, context };
  try {
    const done = await world.gateway.execute(request, testDeadline());
    const omitted = done.kind === 'called' ? done.result.body_omitted?.reason : undefined;
    return { method, resultCode: done.kind, omitted };
  } catch (error) {
    const { code, message } = AppError.from(error);
    const isStoreFull = code === 'unavailable' && message.includes('could not be stored');
    return { method, resultCode: isStoreFull ? 'store_full' : code, omitted: undefined };
  }
}

/** The executor's memory in bytes: now, and the maximum so far. */
async function measureMemory(): Promise<{ now: number; most: number }> {
  const status = await readFile(`/proc/${executor.pid}/status`, 'utf8');
  const read = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024;
  return { now: read('VmRSS'), most: read('VmHWM') };
}

test(
  'calls to hostile upstreams end with typed errors and use little memory',
  async () => {
    const honestUrl = `${world.upstream.baseUrl}/raw`;
    const called = { resultCode: 'called' };
    await expect.poll(() => callUpstream(honestUrl, 'GET')).toMatchObject(called);
    const memoryBefore = await measureMemory();
    const outcomes = new Map<string, Outcome[]>();
    const plannedCalls = Object.entries(urlsByName).flatMap(([name, url]) =>
      Array.from({ length: callsPerUpstream }, (_, n) => ({
        n,
        name,
        url,
        method: n % 2 ? 'POST' : 'GET',
      })),
    );
    // One call of each kind after another, so that attacks of different kinds happen at the same
    // time.
    const queue = plannedCalls.toSorted((left, right) => left.n - right.n);
    const worker = async () => {
      for (let next = queue.pop(); next; next = queue.pop()) {
        const outcome = await callUpstream(next.url, next.method as 'GET' | 'POST');
        outcomes.set(next.name, [...(outcomes.get(next.name) ?? []), outcome]);
      }
    };
    await Promise.all(Array.from({ length: concurrentCallsMax }, worker));
    const grownBytes = (await measureMemory()).most - memoryBefore.now;

    if (callsPerUpstream > 10) {
      for (const [name, seen] of outcomes) {
        const resultCodes = new Set(
          seen.map(({ method, resultCode: said, omitted }) =>
            `${method} ${said} ${omitted ?? ''}`.trim(),
          ),
        );
        process.stdout.write(`${name}: ${[...resultCodes].toSorted().join(', ')}\n`);
      }
      process.stdout.write(
        `${plannedCalls.length} calls, ${(grownBytes / mebibyte).toFixed(0)} MiB more at most\n`,
      );
    }
    for (const [name, seen] of outcomes) {
      expect(seen).toHaveLength(callsPerUpstream);
      for (const { method, resultCode: said } of seen)
        expect(said, `${name}, ${method}`).toMatch(method === 'GET' ? read : nonRead);
    }
    expect(grownBytes).toBeLessThan(150 * mebibyte);

    // After the attacks the executor still works.
    expect(await callUpstream(honestUrl, 'GET')).toMatchObject(called);
  },
  20_000 + callsPerUpstream * 4_000,
);
