import type { Comparison, Figures } from './measure.ts';
import type { SearchFigures } from './search.ts';

export interface MemoryFigures {
  readonly afterTenThousand: number;
  readonly afterFiftyThousand: number;
}

export interface BenchRun {
  /**
   * An allowed GET through the gateway in one process, compared with the same GET through the plain
   * Fastify proxy.
   */
  readonly compared: Comparison;
  /** An allowed GET as a tool call over MCP, compared with the same GET over REST. */
  readonly overMcp: Comparison;
  readonly figures: readonly Figures[];
  /**
   * The median latency of a single call in milliseconds. A key consists of the measured program and
   * the kind of call, such as `proxy GET`.
   */
  readonly alone: ReadonlyMap<string, number>;
  readonly memory: MemoryFigures;
  readonly layers: ReadonlyMap<string, ReadonlyMap<string, { medianMs: number; count: number }>>;
  readonly search: SearchFigures;
}

/**
 * The performance targets, each with its value in this run and whether this run meets the target.
 */
export function targetsOf({
  compared: { throughputRatio, latencyRatio },
  memory,
  search,
}: BenchRun): { name: string; value: string; holds: boolean }[] {
  const growth = memory.afterFiftyThousand / memory.afterTenThousand - 1;
  return [
    {
      name: 'allowed GET, embedded, 32 in flight: share of the proxy’s throughput, at least 15 %',
      value: `${(throughputRatio * 100).toFixed(1)} %`,
      holds: throughputRatio >= 0.15,
    },
    {
      name: 'allowed GET, embedded, alone: median against the proxy’s, at most 8 times',
      value: `${latencyRatio.toFixed(1)} ×`,
      holds: latencyRatio <= 8,
    },
    {
      name: 'memory of the embedded whole after 10,000 calls, at most 450 MiB',
      value: `${memory.afterTenThousand.toFixed(0)} MiB`,
      holds: memory.afterTenThousand <= 450,
    },
    {
      name: 'growth from call 10,000 to call 50,000, at most 5 %',
      value: `${(growth * 100).toFixed(1)} %`,
      holds: growth <= 0.05,
    },
    {
      name: 'search among 20,000 actions of 20 services, p99, at most 5 ms',
      value: `${search.p99.toFixed(2)} ms`,
      holds: search.p99 <= 5,
    },
  ];
}

export function renderReport(run: BenchRun): string {
  const rows = run.figures.map((each) =>
    [
      each.programName,
      each.call,
      each.concurrency,
      each.perSecond.toFixed(0),
      each.p50,
      each.p99,
      each.cpuSecondsPerThousand.toFixed(2),
      each.pssMebibytes.toFixed(0),
    ].join(' | '),
  );
  const alone = [...run.alone].map(([name, ms]) => `| ${name} | ${ms.toFixed(2)} |`);
  const layers = [...run.layers].map(([call, medians]) =>
    [
      `### ${call}`,
      '',
      '| Span | Median, ms | Seen |',
      '|---|---|---|',
      ...[...medians]
        .toSorted(([, left], [, right]) => right.medianMs - left.medianMs)
        .map(([name, { medianMs, count }]) => `| ${name} | ${medianMs.toFixed(2)} | ${count} |`),
    ].join('\n'),
  );
  return `# Performance

Written by \`npm run bench\`. Everything below comes from one run on one machine: two cores that
the load generator, the upstream, Postgres and NATS shared with what is measured. Compare the
ratios; absolute figures depend on the machine as much as on the gateway.

## Targets

| Target | Here | |
|---|---|---|
${targetsOf(run)
  .map(({ name, value, holds }) => `| ${name} | ${value} | ${holds ? 'holds' : '**missed**'} |`)
  .join('\n')}

The first two are medians of eleven rounds in which gateway and proxy took turns, after 20 s of load
for each. Other users of the machine change its speed by a third within half a minute. The table
below measures one subject after the other and shows this variation.

## Throughput, latency, cost

The same upstream answers at once with 250 bytes of JSON. *direct*: no proxy at all. *bare
Fastify proxy*: adds one header and does nothing else. *gateway*: agent key, permission walk,
vault credential, egress guard, audit; a POST also has two fields of its body disclosed in the
audit log, and its intent and its outcome committed to Postgres before it is answered. Latencies are in
whole milliseconds (the load generator's marks); CPU and memory are of all processes of the subject,
Postgres and NATS included.

| Subject | Call | In flight | Calls/s | p50 ms | p99 ms | CPU s per 1,000 | PSS MiB |
|---|---|---|---|---|---|---|---|
${rows.map((row) => `| ${row} |`).join('\n')}

One call at a time, median:

| Subject and call | ms |
|---|---|
${alone.join('\n')}

The same GET as a tool's call over MCP, in turn with REST: ${(run.overMcp.throughputRatio * 100).toFixed(0)} % of its throughput,
${run.overMcp.latencyRatio.toFixed(2)} times its time alone (medians of five rounds).

Memory of the embedded whole: ${run.memory.afterTenThousand.toFixed(0)} MiB after 10,000 calls,
${run.memory.afterFiftyThousand.toFixed(0)} MiB after 50,000.

Search among ${run.search.actions.toLocaleString('en')} actions, words ranked in one process: p50
${run.search.p50.toFixed(2)} ms, p99 ${run.search.p99.toFixed(2)} ms.

## Where a call's time goes

Medians of the spans of calls made one at a time, all of them traced. A span contains those
that it calls: \`execution\` contains the executor's \`rpc.executor.v1.execute\`, which contains the
outbound request.

${layers.join('\n\n')}

## Repeat it

\`npm run bench\` takes about eight minutes, starts everything it needs and ends by itself. It exits
with 1 when a target is missed.
`;
}
