import { repeat } from '../process/repeat.ts';
import { areMetricsOn, observe } from './metrics.ts';
import type { GaugeWithoutLabels } from './metrics.ts';

const pollEveryMs = 5_000;

/** How many items wait, and how long the oldest of them has waited. */
export interface Backlog {
  readonly waiting: number;
  readonly oldestSeconds: number;
}

/**
 * Measures a backlog in the database every few seconds, while metrics are on, and reports it. While
 * measurements fail, the last values stay. (To measure it each time that metrics are
 * collected would delay all other metrics while the database is slow.)
 */
export function pollBacklog(
  names: { readonly waiting: GaugeWithoutLabels; readonly oldestAge: GaugeWithoutLabels },
  measure: () => Promise<Backlog>,
): AsyncDisposable {
  const stack = new AsyncDisposableStack();
  if (!areMetricsOn()) return stack;
  let backlog: Backlog | undefined;
  const report = (name: GaugeWithoutLabels, valueOf: (backlog: Backlog) => number) =>
    stack.use(
      observe(name, () => (backlog === undefined ? [] : [{ value: valueOf(backlog), labels: {} }])),
    );
  report(names.waiting, ({ waiting }) => waiting);
  report(names.oldestAge, ({ oldestSeconds }) => oldestSeconds);
  const pollLoop = stack.use(
    repeat(pollEveryMs, async () => {
      backlog = await measure().catch(() => backlog);
    }),
  );
  pollLoop.wake();
  return stack;
}
