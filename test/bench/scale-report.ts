export interface ExecutorScaling {
  readonly executors: number;
  readonly perSecond: number;
  /** The number of answers that were not 2xx. */
  readonly failed: number;
}

export interface OtherUpstreamLatencies {
  /**
   * The p99 latency, in milliseconds, of calls to 49 healthy upstreams. Meanwhile the fiftieth
   * upstream is healthy too (`well`), answers slowly (`slow`), or is down (`dead`).
   */
  readonly well: number;
  readonly slow: number;
  readonly dead: number;
  readonly failed: number;
}

/** What a call costs with this many gateways and as many policies. */
export interface ReplicaCost {
  readonly replicas: number;
  readonly perSecond: number;
  /** The CPU milliseconds of a call in all processes of each component, and in the servers. */
  readonly cpuMs: Readonly<Record<string, number>>;
}

export interface ScaleRun {
  /** How often costs and latencies were measured, of which the run has the medians. */
  readonly rounds: number;
  readonly scaled: readonly ExecutorScaling[];
  readonly costs: readonly ReplicaCost[];
  readonly otherUpstreams: OtherUpstreamLatencies;
}

export interface Goal {
  readonly name: string;
  readonly value: string;
  readonly holds: boolean;
}

/** The part of its number by which executors must at least multiply the throughput: 7.5 with 8. */
const speedupShare = 7.5 / 8;

export function goalsOf({ scaled, costs, otherUpstreams: neighbours }: ScaleRun): Goal[] {
  const singleExecutorRate = scaled[0]?.perSecond ?? 0;
  const speedups = scaled.slice(1).map(({ executors, perSecond }) => ({
    name: `${executors} executors: throughput of one, at least ${speedupShare * executors} times`,
    value: `${(perSecond / singleExecutorRate).toFixed(2)} ×`,
    holds: perSecond / singleExecutorRate >= speedupShare * executors,
  }));
  const costIn = ({ cpuMs }: ReplicaCost) => (cpuMs['gateway'] ?? 0) + (cpuMs['policy'] ?? 0);
  const [single] = costs;
  const costRatios = costs.slice(1).map((cost) => {
    const ratio = single === undefined ? Infinity : costIn(cost) / costIn(single);
    return {
      name: `${cost.replicas} gateways and policies: their CPU of a call, at most 1.1 times that of one each`,
      value: `${ratio.toFixed(2)} ×`,
      holds: ratio <= 1.1,
    };
  });
  const { well, slow, dead } = neighbours;
  const ratios = Object.entries({ slow, dead }).map(([trouble, p99]) => ({
    name: `one ${trouble} upstream among 50: p99 of the others, at most 1.1 times`,
    value: `${(p99 / well).toFixed(2)} ×`,
    holds: p99 / well <= 1.1,
  }));
  return [...speedups, ...costRatios, ...ratios];
}

export function renderScale(run: ScaleRun): string {
  const goals = goalsOf(run).map(
    ({ name, value, holds }) => `| ${name} | ${value} | ${holds ? 'holds' : '**missed**'} |`,
  );
  const rows = run.scaled.map(
    ({ executors, perSecond, failed }) => `| ${executors} | ${perSecond.toFixed(1)} | ${failed} |`,
  );
  const costNames = Object.keys(run.costs[0]?.cpuMs ?? {});
  const costRows = run.costs.map(({ replicas, perSecond, cpuMs }) => {
    const values = costNames.map((name) => cpuMs[name] ?? 0);
    const sum = values.reduce((total, value) => total + value, 0);
    const cells = [...values, sum].map((ms) => ms.toFixed(2));
    return `| ${[replicas, perSecond.toFixed(1), ...cells].join(' | ')} |`;
  });
  const { well, slow, dead, failed } = run.otherUpstreams;
  const inRounds = run.rounds === 1 ? 'One round' : `Medians of ${run.rounds} rounds in turn`;
  return `
Written by \`npm run bench:scale\`, on the same kind of machine: every process shares its two cores
with the load generator.

| Goal | Here | |
|---|---|---|
${goals.join('\n')}

Executors with 32 slots each, reads of an upstream that takes four seconds, 27 in flight for each
executor, which begin evenly spread. The upstream takes so long that slots bound the throughput, and
not the two cores:

| Executors | Calls/s | Not answered with 2xx |
|---|---|---|
${rows.join('\n')}

CPU time of a read in ms, with as many policies as gateways and one process of every other component.
The upstream takes 400 ms, and each gateway has 32 calls in flight. ${inRounds}, each on
newly started processes.

| Gateways and policies | Calls/s | ${costNames.join(' | ')} | All |
|---|---|${'---|'.repeat(costNames.length + 1)}
${costRows.join('\n')}

One executor with its 256 slots, 40 reads a second spread over 50 upstreams that take 250 ms, and 20
more a second of one of them, which is then slow (no answer before the deadline) or dead (nobody
listens). p99 of the calls of the other 49, ${inRounds.toLowerCase()}: ${well.toFixed(0)} ms while all are well, ${slow.toFixed(0)} ms beside the
slow one, ${dead.toFixed(0)} ms beside the dead one; ${failed} of them failed.
`;
}
