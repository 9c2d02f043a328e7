import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Environment } from '#config';
import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { lastingPort } from '../../services-src/embedded/index.ts';
import { programEnv } from '../support/program-env.ts';
import { pollUntil } from '../support/world.ts';
import type { Answer, Question, Reading } from './probe.ts';

export type Readings = Readonly<Record<Component, Reading>>;

/**
 * Every component in a separate process. A probe measures the CPU time of each process's main
 * thread.
 */
export interface SeparateComponents extends AsyncDisposable {
  readonly url: string;
  readonly firstSignInUrl: string;
  /**
   * Runs `work`, and measures the CPU time that each main thread uses for it. This includes tasks
   * that still run after the answer.
   */
  measure<T>(work: () => Promise<T>): Promise<{ result: T; readings: Readings }>;
}

/** Starts the same components as `startComponents`, but each component in a separate process. */
export async function startSeparateComponents(
  environment: Environment,
): Promise<SeparateComponents> {
  await using startup = new AsyncDisposableStack();
  const oauthPort = String(await lastingPort());
  const settings = {
    ...programEnv,
    ...environment,
    OAUTH_PORT: oauthPort,
    OAUTH_URL: `http://127.0.0.1:${oauthPort}`,
  };
  const startedProcesses = components.map((component) =>
    startup.use(startProcess(component, settings)),
  );
  const url = `http://127.0.0.1:${environment['PORT']}`;
  await pollUntil(async () => {
    const reply = await fetch(`${url}/health/ready`).catch(() => null);
    return reply?.ok === true;
  }, 'the gateway is ready');
  const auth = startedProcesses[components.indexOf('auth')] as StartedProcess;
  await pollUntil(() => /Sign in: (\S+)/.test(auth.printed()), 'auth prints a link');
  let idleTurnsMs: readonly number[] | undefined;
  const running = startup.move();
  return {
    url,
    firstSignInUrl: /Sign in: (\S+)/.exec(auth.printed())?.[1] ?? '',
    measure: async (work) =>
      measureWork(
        startedProcesses,
        (idleTurnsMs ??= await measureIdleTurns(startedProcesses)),
        work,
      ),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

interface StartedProcess extends AsyncDisposable {
  readonly component: Component;
  printed(): string;
  read(): Promise<Reading>;
}

function startProcess(component: Component, environment: Environment): StartedProcess {
  const child: ChildProcess = spawn(
    process.execPath,
    ['--import', './test/budget/probe.ts', `${component}/main.ts`],
    { env: environment, stdio: ['ignore', 'pipe', 'inherit', 'ipc'] },
  );
  let printedText = '';
  child.stdout?.on('data', (chunk: Buffer) => (printedText += chunk.toString()));
  const waitingByProbe = new Map<number, (reading: Reading) => void>();
  let nextReadingId = 0;
  child.on('message', ({ probe, ...reading }: Answer) => waitingByProbe.get(probe)?.(reading));
  return {
    component,
    printed: () => printedText,
    read() {
      if (child.exitCode !== null) throw new Error(`${component} ended: ${child.exitCode}`);
      nextReadingId += 1;
      const question: Question = { probe: nextReadingId };
      const { promise, resolve } = Promise.withResolvers<Reading>();
      waitingByProbe.set(nextReadingId, resolve);
      child.send(question);
      return promise.finally(() => waitingByProbe.delete(question.probe));
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/** The pause between two checks whether the components are still working on an answered request. */
const pauseMs = 10;
const pausesMax = 20;
/**
 * A turn of the event loop counts as idle if it uses less CPU time than this: such a turn runs
 * little more than the probe's timer.
 */
const idleTurnMs = 1;

/**
 * How long the components are idle while `measureIdleTurns` measures them. It must be shorter than
 * the time after which a probe without questions stops its timer.
 */
const idleMeasurementMs = 2_000;

/**
 * The average CPU time of one turn of the event loop without requests. The probe's timer and the
 * component's own timers use this time.
 */
async function measureIdleTurns(startedProcesses: readonly StartedProcess[]): Promise<number[]> {
  await readAllProbes(startedProcesses);
  await sleep(idleMeasurementMs);
  const readings = await readAllProbes(startedProcesses);
  return readings.map(({ cpuMs, turns }) => cpuMs / turns);
}

const readAllProbes = (startedProcesses: readonly StartedProcess[]) =>
  Promise.all(startedProcesses.map((each) => each.read()));

async function measureWork<T>(
  startedProcesses: readonly StartedProcess[],
  idleTurnsMs: readonly number[],
  work: () => Promise<T>,
) {
  await readAllProbes(startedProcesses);
  const result = await work();
  let totalReadings = await readAllProbes(startedProcesses);
  for (let pauses = 0; pauses < pausesMax; pauses += 1) {
    await sleep(pauseMs);
    const furtherReadings = await readAllProbes(startedProcesses);
    totalReadings = totalReadings.map((reading, at) =>
      addReadings(reading, furtherReadings[at] as Reading),
    );
    if (furtherReadings.every(({ longestMs }) => longestMs < idleTurnMs)) break;
  }
  const readings = Object.fromEntries(
    startedProcesses.map(({ component }, at) => {
      const { cpuMs, turns, ...rest } = totalReadings[at] as Reading;
      return [
        component,
        { ...rest, turns, cpuMs: Math.max(0, cpuMs - turns * (idleTurnsMs[at] ?? 0)) },
      ];
    }),
  ) as unknown as Readings;
  return { result, readings };
}

function addReadings(one: Reading, other: Reading): Reading {
  return {
    cpuMs: one.cpuMs + other.cpuMs,
    longestMs: Math.max(one.longestMs, other.longestMs),
    turns: one.turns + other.turns,
  };
}
