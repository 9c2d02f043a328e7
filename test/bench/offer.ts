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
