import { Agent, request } from 'undici';

import type { Target } from './measure.ts';

export interface RateResult {
  readonly p99: number;
  readonly failed: number;
}

/**
 * Sends calls to the targets in turn at a steady rate, even while earlier calls are unanswered.
 * `failed` counts the calls that got no successful answer.
 */
export async function callAtSteadyRate(
  targets: readonly Target[],
  {
    perSecond,
    seconds,
    atFirst: callsAtOnce = 0,
  }: { perSecond: number; seconds: number; atFirst?: number },
): Promise<RateResult> {
  const dispatcher = new Agent({ connections: 1_024 });
  const durations: number[] = [];
  const calls: Promise<void>[] = [];
  let failed = 0;
  const makeCall = async (target: Target) => {
    const startedAt = performance.now();
    const { url, method, headers = {}, body = null } = target;
    const reply = await request(url, { dispatcher, method, headers, body });
    const text = await reply.body.text();
    durations.push(performance.now() - startedAt);
    if (!text.includes('"status_code":200')) failed += 1;
  };
  const startCall = (n: number) => {
    const target = targets[n % targets.length];
    if (target !== undefined) calls.push(makeCall(target).catch(() => void (failed += 1)));
  };
  for (let n = 0; n < callsAtOnce; n += 1) startCall(n);
  const startedAt = performance.now();
  for (let n = 0; n < perSecond * seconds; n += 1) {
    const waitMs = startedAt + (n * 1000) / perSecond - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    startCall(n);
  }
  await Promise.all(calls);
  await dispatcher.close();
  const sortedDurations = durations.toSorted((left, right) => left - right);
  return { p99: sortedDurations[Math.floor(sortedDurations.length * 0.99)] ?? 0, failed };
}

export interface SteadyRate {
  /** Successful answers a second. */
  readonly perSecond: number;
  /** The answers that were not successful. */
  readonly failed: number;
}

/**
 * Keeps a number of calls in flight to an upstream that takes `turnMs` for each, and counts the
 * answers of `turns` turns, after two turns that are not counted. The calls begin evenly spread
 * over a turn: if they all began at once, they would all need their slots at once in every turn,
 * which the calls of many agents do not.
 */
export async function measureSteadyRate(
  { url, method, headers = {}, body }: Target,
  { inFlight, turnMs, turns }: { inFlight: number; turnMs: number; turns: number },
): Promise<SteadyRate> {
  const dispatcher = new Agent({ connections: inFlight });
  const countsFrom = performance.now() + 2 * turnMs;
  const endsAt = countsFrom + turns * turnMs;
  let answered = 0;
  let failed = 0;
  const callInTurn = async (_: unknown, at: number) => {
    await new Promise((resolve) => setTimeout(resolve, (at * turnMs) / inFlight));
    while (performance.now() < endsAt) {
      const reply = await request(url, { dispatcher, method, headers, body: body ?? null });
      const text = await reply.body.text();
      const now = performance.now();
      if (now < countsFrom || now > endsAt) continue;
      if (text.includes('"status_code":200')) answered += 1;
      else failed += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, callInTurn));
  await dispatcher.close();
  return { perSecond: (answered * 1_000) / (turns * turnMs), failed };
}
