import { Agent, request } from 'undici';

import type { Target } from './measure.ts';
import { cpuSecondsOf, listProcessTree } from './processes.ts';

/**
 * Process ids by the name of the program that runs there. Child processes are measured with their
 * parent.
 */
export type NamedPids = Readonly<Record<string, number>>;

export interface LoadFigures {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** The milliseconds of CPU time per call, for each process. */
  readonly cpuMsPerCall: Readonly<Record<string, number>>;
}

/**
 * Sends calls to the targets in turn, and keeps a fixed number of calls in flight: one for each
 * target if there are enough targets. Throws if any answer is not 2xx. Times are in milliseconds.
 */
export async function measureInTurn(
  targets: readonly Target[],
  { inFlight, seconds, pids }: { inFlight: number; seconds: number; pids: NamedPids },
): Promise<LoadFigures> {
  const dispatcher = new Agent({ connections: inFlight });
  const trees = await Promise.all(
    Object.entries(pids).map(async ([name, pid]) => [name, await listProcessTree([pid])] as const),
  );
  const readCpu = () => Promise.all(trees.map(([, tree]) => cpuSecondsOf(tree)));
  const durations: number[] = [];
  // A target waits here until its call has ended, so that a session never has two calls in flight.
  const waitingTargets = Array.from(
    { length: Math.max(targets.length, inFlight) },
    (_, index) => targets[index % targets.length],
  );
  const cpuBefore = await readCpu();
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1_000;
  const callInTurn = async () => {
    while (performance.now() < endsAt) {
      const target = waitingTargets.shift();
      if (target === undefined) throw new Error('There is no target to call.');
      durations.push(await timeCall(dispatcher, target));
      waitingTargets.push(target);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, callInTurn));
  const elapsedSeconds = (performance.now() - startedAt) / 1_000;
  const cpuAfter = await readCpu();
  await dispatcher.close();
  const cpuMsPerCall = trees.map(([name], at): [string, number] => [
    name,
    (((cpuAfter[at] ?? 0) - (cpuBefore[at] ?? 0)) * 1_000) / durations.length,
  ]);
  return {
    perSecond: durations.length / elapsedSeconds,
    ...percentilesOf(durations),
    cpuMsPerCall: Object.fromEntries(cpuMsPerCall),
  };
}

export function percentilesOf(durations: readonly number[]): { p50: number; p99: number } {
  const sorted = Float64Array.from(durations).toSorted();
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}

async function timeCall(dispatcher: Agent, target: Target): Promise<number> {
  const startedAt = performance.now();
  const { url, method, headers = {}, body = null } = target;
  const reply = await request(url, { dispatcher, method, headers, body });
  const text = await reply.body.text();
  if (reply.statusCode > 299) throw new Error(`${url} answered ${reply.statusCode}: ${text}`);
  return performance.now() - startedAt;
}
