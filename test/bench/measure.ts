import autocannon from 'autocannon';
import { Client } from 'undici';

import { cpuSecondsOf, pssMebibytesOf, listProcessTree } from './processes.ts';

/** A program that answers calls and is measured, and the ids of its processes. */
export interface MeasuredProgram {
  readonly name: string;
  readonly rootPids: readonly number[];
  readonly get: Target;
  readonly post: Target;
}

export interface Target {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

export interface Figures {
  readonly programName: string;
  readonly call: 'GET' | 'POST';
  readonly concurrency: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly cpuSecondsPerThousand: number;
  readonly pssMebibytes: number;
}

export async function measureLoad(
  subject: MeasuredProgram,
  call: 'GET' | 'POST',
  { concurrency, seconds }: { concurrency: number; seconds: number },
): Promise<Figures> {
  const target = call === 'GET' ? subject.get : subject.post;
  await runLoad(target, { concurrency, duration: 1 }); // Warms up connections, caches and V8's compiler.
  const pids = await listProcessTree(subject.rootPids);
  const before = await cpuSecondsOf(pids);
  const result = await runLoad(target, { concurrency, duration: seconds });
  const cpuSeconds = (await cpuSecondsOf(pids)) - before;
  const calls = result.requests.total;
  return {
    programName: subject.name,
    call,
    concurrency,
    perSecond: calls / result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    cpuSecondsPerThousand: (cpuSeconds / calls) * 1000,
    pssMebibytes: await pssMebibytesOf(pids),
  };
}

/**
 * Returns the median latency of single calls. Measures each call itself, because autocannon's
 * histogram has a resolution of whole milliseconds.
 */
export async function medianMsOfSingleCalls(target: Target, calls: number): Promise<number> {
  const { origin, pathname } = new URL(target.url);
  const connection = new Client(origin);
  const durations: number[] = [];
  for (let index = 0; index < calls; index += 1) {
    const started = performance.now();
    const reply = await connection.request({
      path: pathname,
      method: target.method,
      headers: target.headers ?? {},
      body: target.body ?? null,
    });
    await reply.body.dump();
    if (reply.statusCode > 299) throw new Error(`${target.url} answered ${reply.statusCode}`);
    durations.push(performance.now() - started);
  }
  await connection.close();
  return medianOf(durations);
}

export interface Comparison {
  /**
   * The first program's calls per second, with 32 calls in flight, divided by the second program's.
   */
  readonly throughputRatio: number;
  /** The first program's median latency of a single call, divided by the second program's. */
  readonly latencyRatio: number;
}

/**
 * Measures two programs in turn, round by round, so that a change of the machine's speed affects
 * both. Returns the medians over all rounds.
 */
export async function compareTargets(
  target: Target,
  other: Target,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Comparison> {
  const perSecond = async (measured: Target, duration: number) => {
    const result = await runLoad(measured, { concurrency: 32, duration });
    return result.requests.total / result.duration;
  };
  // Warms up both programs, because V8 still optimizes during the first 30,000 calls or so.
  await perSecond(other, 20);
  await perSecond(target, 20);
  // Waits until the audit records of the load are stored. Storing them would slow down the single
  // calls.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const latencyRatios: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    latencyRatios.push(
      (await medianMsOfSingleCalls(target, 300)) / (await medianMsOfSingleCalls(other, 300)),
    );
  }
  const throughputRatios: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    throughputRatios.push((await perSecond(target, seconds)) / (await perSecond(other, seconds)));
  }
  return { throughputRatio: medianOf(throughputRatios), latencyRatio: medianOf(latencyRatios) };
}

export function medianOf(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

/**
 * Makes a given number of calls, or makes calls for a given time. Throws if any answer is not 2xx.
 */
export async function runLoad(
  target: Target,
  options: { concurrency: number; duration?: number; amount?: number },
): Promise<autocannon.Result> {
  const result = await autocannon({
    url: target.url,
    method: target.method,
    headers: target.headers ?? {},
    ...(target.body === undefined ? {} : { body: target.body }),
    connections: options.concurrency,
    ...(options.amount === undefined
      ? { duration: options.duration ?? 5 }
      : { amount: options.amount }),
  });
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(
      `${target.url}: ${result.non2xx} answers were not 2xx, ${result.errors} failed`,
    );
  }
  return result;
}
