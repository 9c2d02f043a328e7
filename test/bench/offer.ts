import { Agent, request } from 'undici';

import type { Target } from './measure.ts';

export interface Offered {
  readonly p99: number;
  readonly failed: number;
}

/**
 * Offers calls at a steady rate, whether or not the earlier ones have been answered, to the targets in
 * turn. `failed` counts everything but a call that was made.
 */
export async function offer(
  targets: readonly Target[],
  { perSecond, seconds, atFirst = 0 }: { perSecond: number; seconds: number; atFirst?: number },
): Promise<Offered> {
  const dispatcher = new Agent({ connections: 1_024 });
  const durations: number[] = [];
  const calls: Promise<void>[] = [];
  let failed = 0;
  const call = async (target: Target) => {
    const startedAt = performance.now();
    const { url, method, headers = {}, body = null } = target;
    const reply = await request(url, { dispatcher, method, headers, body });
    const text = await reply.body.text();
    durations.push(performance.now() - startedAt);
    if (!text.includes('"status_code":200')) failed += 1;
  };
  const start = (n: number) => {
    const target = targets[n % targets.length];
    if (target !== undefined) calls.push(call(target).catch(() => void (failed += 1)));
  };
  for (let n = 0; n < atFirst; n += 1) start(n);
  const startedAt = performance.now();
  for (let n = 0; n < perSecond * seconds; n += 1) {
    const waitMs = startedAt + (n * 1000) / perSecond - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    start(n);
  }
  await Promise.all(calls);
  await dispatcher.close();
  const sorted = durations.toSorted((left, right) => left - right);
  return { p99: sorted[Math.floor(sorted.length * 0.99)] ?? 0, failed };
}
