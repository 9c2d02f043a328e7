import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Environment } from '#config';
import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { freePort } from '../e2e/support/port.ts';
import { until } from '../e2e/support/world.ts';
import type { Answer, Question, Reading } from './probe.ts';

export type Readings = Readonly<Record<Component, Reading>>;

/** One process per component, each with a probe on its main thread. */
export interface Apart extends AsyncDisposable {
  readonly url: string;
  readonly firstSignInUrl: string;
  /** What each main thread used for this work, and for what followed from it. */
  measure<T>(work: () => Promise<T>): Promise<{ result: T; readings: Readings }>;
}

/** Starts what `startComponents` does, apart from one another. */
export async function startApart(environment: Environment): Promise<Apart> {
  await using startup = new AsyncDisposableStack();
  const oauthPort = String(await freePort());
  const settings = {
    PATH: process.env['PATH'],
    ...environment,
    OAUTH_PORT: oauthPort,
    OAUTH_URL: `http://127.0.0.1:${oauthPort}`,
  };
  const started = components.map((component) => startup.use(startProcess(component, settings)));
  const url = `http://127.0.0.1:${environment['PORT']}`;
  await until(async () => {
    const reply = await fetch(`${url}/health/ready`).catch(() => null);
    return reply?.ok === true;
  }, 'the gateway is ready');
  const auth = started[components.indexOf('auth')] as Started;
  await until(() => /Sign in: (\S+)/.test(auth.printed()), 'auth prints a link');
  let idle: readonly number[] | undefined;
  const running = startup.move();
  return {
    url,
    firstSignInUrl: /Sign in: (\S+)/.exec(auth.printed())?.[1] ?? '',
    measure: async (work) => measure(started, (idle ??= await idleOf(started)), work),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

interface Started extends AsyncDisposable {
  readonly component: Component;
  printed(): string;
  read(): Promise<Reading>;
}

function startProcess(component: Component, environment: Environment): Started {
  const child: ChildProcess = spawn(
    process.execPath,
    ['--import', './test/budget/probe.ts', `${component}/main.ts`],
    { env: environment, stdio: ['ignore', 'pipe', 'inherit', 'ipc'] },
  );
  let printed = '';
  child.stdout?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const waiting = new Map<number, (reading: Reading) => void>();
  let asked = 0;
  child.on('message', ({ probe, ...reading }: Answer) => waiting.get(probe)?.(reading));
  return {
    component,
    printed: () => printed,
    read() {
      if (child.exitCode !== null) throw new Error(`${component} ended: ${child.exitCode}`);
      asked += 1;
      const question: Question = { probe: asked };
      const { promise, resolve } = Promise.withResolvers<Reading>();
      waiting.set(asked, resolve);
      child.send(question);
      return promise.finally(() => waiting.delete(question.probe));
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/** Between two looks at whether what followed from the work is done. */
const pauseMs = 10;
const pausesMax = 20;
/** A turn of the loop that does nothing but the probe's timer, or little more. */
const idleTurnMs = 1;

/** Shorter than the timer of a probe goes on. */
const idlingMs = 2_000;

/** CPU time of a turn in which nobody asks anything: the probe's timer, and what each component repeats. */
async function idleOf(started: readonly Started[]): Promise<number[]> {
  await readAll(started);
  await sleep(idlingMs);
  const readings = await readAll(started);
  return readings.map(({ cpuMs, turns }) => cpuMs / turns);
}

const readAll = (started: readonly Started[]) => Promise.all(started.map((each) => each.read()));

async function measure<T>(
  started: readonly Started[],
  idle: readonly number[],
  work: () => Promise<T>,
) {
  await readAll(started);
  const result = await work();
  let all = await readAll(started);
  for (let pauses = 0; pauses < pausesMax; pauses += 1) {
    await sleep(pauseMs);
    const more = await readAll(started);
    all = all.map((reading, at) => added(reading, more[at] as Reading));
    if (more.every(({ longestMs }) => longestMs < idleTurnMs)) break;
  }
  const readings = Object.fromEntries(
    started.map(({ component }, at) => {
      const { cpuMs, turns, ...rest } = all[at] as Reading;
      return [component, { ...rest, turns, cpuMs: Math.max(0, cpuMs - turns * (idle[at] ?? 0)) }];
    }),
  ) as unknown as Readings;
  return { result, readings };
}

function added(one: Reading, other: Reading): Reading {
  return {
    cpuMs: one.cpuMs + other.cpuMs,
    longestMs: Math.max(one.longestMs, other.longestMs),
    turns: one.turns + other.turns,
  };
}
