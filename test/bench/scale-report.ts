export interface ExecutorScaling {
  readonly executors: number;
  readonly perSecond: number;
  /** The number of answers that were not 2xx. */
  readonly failed: number;
}

export interface OtherUpstreamLatencies {
  /**
   * The p99 latency, in milliseconds, of calls to 49 upstreams that answer well: while the fiftieth
   * upstream answers well too (`well`), answers slowly (`slow`), or is down (`dead`).
   */
  readonly well: number;
  readonly slow: number;
  readonly dead: number;
  readonly failed: number;
}

export interface ScaleRun {
  readonly scaled: readonly ExecutorScaling[];
  readonly otherUpstreams: OtherUpstreamLatencies;
}

export interface Goal {
  readonly name: string;
  readonly value: string;
  readonly holds: boolean;
}

export function goalsOf({ scaled, otherUpstreams: neighbours }: ScaleRun): Goal[] {
  const singleExecutorRate = scaled[0]?.perSecond ?? 0;
  const speedups = scaled.slice(1).map(({ executors, perSecond }) => ({
    name: `${executors} executors: throughput of one, at least ${(0.85 * executors).toFixed(1)} times`,
    value: `${(perSecond / singleExecutorRate).toFixed(2)} ×`,
    holds: perSecond / singleExecutorRate >= 0.85 * executors,
  }));
  const { well, slow, dead } = neighbours;
  const ratios = Object.entries({ slow, dead }).map(([trouble, p99]) => ({
    name: `one ${trouble} upstream among 50: p99 of the others, at most 1.1 times`,
    value: `${(p99 / well).toFixed(2)} ×`,
    holds: p99 / well <= 1.1,
  }));
  return [...speedups, ...ratios];
}

export function renderScale(run: ScaleRun): string {
  const goals = goalsOf(run).map(
    ({ name, value, holds }) => `| ${name} | ${value} | ${holds ? 'holds' : '**missed**'} |`,
  );
  const rows = run.scaled.map(
    ({ executors, perSecond, failed }) => `| ${executors} | ${perSecond.toFixed(1)} | ${failed} |`,
  );
  const { well, slow, dead, failed } = run.otherUpstreams;
  return `
Written by \`npm run bench:scale\`, on the same kind of machine: every process shares its two cores
with the load generator.

| Goal | Here | |
|---|---|---|
${goals.join('\n')}

Executors with 64 slots each, reads of an upstream that takes one second, 57.6 in flight for each
executor:

| Executors | Calls/s | Not answered with 2xx |
|---|---|---|
${rows.join('\n')}

One executor with its 256 slots, 40 reads a second spread over 50 upstreams that take 250 ms, and 20
more a second of one of them, which is then slow (no answer before the deadline) or dead (nobody
listens). p99 of the calls of the other 49, medians of three rounds in turn: ${well.toFixed(0)} ms while all are well, ${slow.toFixed(0)} ms beside the
slow one, ${dead.toFixed(0)} ms beside the dead one; ${failed} of them failed.
`;
}
