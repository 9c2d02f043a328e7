import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { AppError } from '#errors';
import { context, createWorld, options, soon } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

/** `npm run test:hostile` makes a hundred. Of each upstream, every second one a POST. */
const calls = Number(process.env['HOSTILE_CALLS'] ?? 4);
const atOnce = 20;
const mebibyte = 1024 * 1024;

const running = new AsyncDisposableStack();
let world: World;
let executor: ChildProcess;
let urls: Record<string, string>;

/** A program of its own, killed at the end: what it takes is on nobody else's account. */
function start(args: string[], environment: NodeJS.ProcessEnv): ChildProcess {
  const child = spawn(process.execPath, args, {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.defer(() => void child.kill('SIGKILL'));
  return child;
}

beforeAll(async () => {
  world = running.use(await createWorld());
  await world.stopExecutor();
  const { PATH } = process.env;
  // With the flags that `npm start` gives.
  const flags = [
    '--no-parallel-scavenge',
    '--max-semi-space-size=16',
    '--min-semi-space-size=16',
    '--max-old-space-size=960',
  ];
  executor = start([...flags, 'executor/main.ts'], { PATH, ...world.variables });
  const upstreams = start(['executor/hostile/upstreams.testing.ts'], { PATH });
  const [line] = (await once(createInterface(upstreams.stdout!), 'line')) as [string];
  urls = JSON.parse(line) as Record<string, string>;
});
afterAll(() => running.disposeAsync());

/** What a caller may be told, by method; anything else is a failure of ours. */
const read = /^(called|upstream_(unreachable|timeout|incomplete)|response_too_large)$/;
const nonRead = /^(called|outcome_unknown|upstream_(unreachable|timeout))$/;

interface Outcome {
  readonly method: string;
  readonly said: string;
  readonly omitted: string | undefined;
}

async function call(url: string, method: 'GET' | 'POST'): Promise<Outcome> {
  const raw = world.rawCall({ target: url, method });
  const { host } = new URL(url);
  // An org of its own each time: for one org its circuit breaker would end the matter after five.
  const permit = world.permitOf(raw, {
    orgId: randomUUID(),
    hosts: [host],
    keys: [`http:${method}:${host}/raw`],
  });
  const request = { permit, call: raw, options: { ...options, timeoutMs: 700 }, context };
  try {
    const done = await world.gateway.execute(request, soon());
    const omitted = done.kind === 'called' ? done.result.body_omitted?.reason : undefined;
    return { method, said: done.kind, omitted };
  } catch (error) {
    return { method, said: AppError.from(error).code, omitted: undefined };
  }
}

/** What the executor holds in memory, and the most it ever held, in bytes. */
async function memory(): Promise<{ now: number; most: number }> {
  const status = await readFile(`/proc/${executor.pid}/status`, 'utf8');
  const read = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024;
  return { now: read('VmRSS'), most: read('VmHWM') };
}

test(
  'hostile upstreams get typed errors out of us, and little memory',
  async () => {
    const honest = `${world.upstream.baseUrl}/raw`;
    const called = { said: 'called' };
    await expect.poll(() => call(honest, 'GET'), { timeout: 30_000 }).toMatchObject(called);
    const before = await memory();
    const outcomes = new Map<string, Outcome[]>();
    const work = Object.entries(urls).flatMap(([name, url]) =>
      Array.from({ length: calls }, (_, n) => ({ name, url, method: n % 2 ? 'POST' : 'GET' })),
    );
    // Every upstream in turn, so that all kinds of harm meet.
    const queue = work.toSorted(() => Math.random() - 0.5);
    const worker = async () => {
      for (let next = queue.pop(); next; next = queue.pop()) {
        const outcome = await call(next.url, next.method as 'GET' | 'POST');
        outcomes.set(next.name, [...(outcomes.get(next.name) ?? []), outcome]);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    const grownBy = (await memory()).most - before.now;

    if (calls > 10) {
      for (const [name, seen] of outcomes) {
        const kinds = new Set(
          seen.map(({ method, said, omitted }) => `${method} ${said} ${omitted ?? ''}`.trim()),
        );
        process.stdout.write(`${name}: ${[...kinds].toSorted().join(', ')}\n`);
      }
      process.stdout.write(
        `${work.length} calls, ${(grownBy / mebibyte).toFixed(0)} MiB more at most\n`,
      );
    }
    for (const [name, seen] of outcomes) {
      expect(seen).toHaveLength(calls);
      for (const { method, said } of seen)
        expect(said, `${name}, ${method}`).toMatch(method === 'GET' ? read : nonRead);
    }
    expect(grownBy).toBeLessThan(150 * mebibyte);

    // And it is as well as before.
    expect(await call(honest, 'GET')).toMatchObject(called);
  },
  20_000 + calls * 4_000,
);
