import autocannon from 'autocannon';
import { Client } from 'undici';

import { cpuSecondsOf, pssMebibytesOf, treeOf } from './processes.ts';

/** Something that answers calls, and the processes it takes to do so. */
export interface Subject {
  readonly name: string;
  readonly roots: readonly number[];
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
  readonly subject: string;
  readonly call: 'GET' | 'POST';
  readonly concurrency: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly cpuSecondsPerThousand: number;
  readonly pssMebibytes: number;
}

export async function measure(
  subject: Subject,
  call: 'GET' | 'POST',
  { concurrency, seconds }: { concurrency: number; seconds: number },
): Promise<Figures> {
  const target = call === 'GET' ? subject.get : subject.post;
  await load(target, { concurrency, duration: 1 }); // Warm: connections, caches, the compiler.
  const pids = await treeOf(subject.roots);
  const before = await cpuSecondsOf(pids);
  const result = await load(target, { concurrency, duration: seconds });
  const cpu = (await cpuSecondsOf(pids)) - before;
  const calls = result.requests.total;
  return {
    subject: subject.name,
    call,
    concurrency,
    perSecond: calls / result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    cpuSecondsPerThousand: (cpu / calls) * 1000,
    pssMebibytes: await pssMebibytesOf(pids),
  };
}

/** Latency below a millisecond needs finer marks than autocannon's histogram of whole milliseconds. */
export async function medianMsAlone(target: Target, calls: number): Promise<number> {
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

export interface Compared {
  /** Calls per second with 32 in flight, of the other's. */
  readonly share: number;
  /** Median time of a call alone, in the other's. */
  readonly timesAlone: number;
}

/**
 * Two subjects in turn, round by round: a machine that is faster or slower for a while is so for
 * both. The medians of the rounds' ratios.
 */
export async function compare(
  target: Target,
  other: Target,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Compared> {
  const perSecond = async (measured: Target, duration: number) => {
    const result = await load(measured, { concurrency: 32, duration });
    return result.requests.total / result.duration;
  };
  // Both as they are once they have run for a while: V8 goes on optimizing for some 30,000 calls.
  await perSecond(other, 20);
  await perSecond(target, 20);
  // What was recorded meanwhile is stored before calls are measured alone.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    times.push((await medianMsAlone(target, 300)) / (await medianMsAlone(other, 300)));
  }
  const shares: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    shares.push((await perSecond(target, seconds)) / (await perSecond(other, seconds)));
  }
  return { share: medianOf(shares), timesAlone: medianOf(times) };
}

export function medianOf(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

/** Exactly so many calls, or for so long; fails when any is not answered with 2xx. */
export async function load(
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
