import type { LoadFigures } from './load-in-turn.ts';
import type { ProfileRow } from './profile.ts';

export interface LifeRow extends LoadFigures {
  readonly name: string;
}

export interface LifeRun {
  /** The figures with 32 calls in flight. The first row is the bare proxy. */
  readonly rows: readonly LifeRow[];
  /** The figures with one call at a time. The rows are in the same order. */
  readonly alone: readonly LifeRow[];
  /** The milliseconds from the call to the result of an approved call. */
  readonly approvals: { readonly p50: number; readonly p99: number };
  readonly minutes: number;
  readonly startMs: number;
  readonly profiles: Readonly<Record<string, readonly ProfileRow[]>>;
}

interface Goal {
  readonly name: string;
  readonly value: string;
  readonly holds: boolean;
}

/** The goals of this benchmark, with their values in this run. */
export function goalsOf({ rows, alone, approvals, startMs }: LifeRun): Goal[] {
  const [proxy, get, , mcp, post] = rows;
  const [proxyAlone, getAlone] = alone;
  if (!proxy || !get || !mcp || !post || !proxyAlone || !getAlone) return [];
  const throughputShare = get.perSecond / proxy.perSecond;
  const latencyRatio = getAlone.p50 / proxyAlone.p50;
  const tailRatio = getAlone.p99 / getAlone.p50;
  const cpuMs = cpuOf(get);
  const mcpShare = mcp.perSecond / get.perSecond;
  return [
    {
      name: 'allowed GET, 32 in flight: share of the proxy’s throughput, at least 19 %',
      value: `${(throughputShare * 100).toFixed(1)} %`,
      holds: throughputShare >= 0.19,
    },
    {
      name: 'allowed GET, alone: p50 against the proxy’s, at most 5 times',
      value: `${latencyRatio.toFixed(1)} ×`,
      holds: latencyRatio <= 5,
    },
    {
      name: 'allowed GET, alone: p99 against its p50, at most 4 times',
      value: `${tailRatio.toFixed(1)} ×`,
      holds: tailRatio <= 4,
    },
    {
      name: 'allowed GET, 32 in flight: CPU of all processes, at most 0.6 ms',
      value: `${cpuMs.toFixed(2)} ms`,
      holds: cpuMs <= 0.6,
    },
    {
      name: 'allowed POST, 32 in flight: at least 1,000 calls a second',
      value: `${post.perSecond.toFixed(0)}/s`,
      holds: post.perSecond >= 1_000,
    },
    {
      name: 'GET over MCP: share of the throughput over REST, at least 85 %',
      value: `${(mcpShare * 100).toFixed(0)} %`,
      holds: mcpShare >= 0.85,
    },
    {
      name: 'suspended, allowed, result: p50 at most 30 ms',
      value: `${approvals.p50.toFixed(1)} ms`,
      holds: approvals.p50 <= 30,
    },
    {
      name: 'suspended, allowed, result: p99 at most 90 ms',
      value: `${approvals.p99.toFixed(1)} ms`,
      holds: approvals.p99 <= 90,
    },
    {
      name: 'from the start to the first answered call, at most 2.5 s',
      value: `${(startMs / 1_000).toFixed(2)} s`,
      holds: startMs <= 2_500,
    },
  ];
}

const cpuOf = ({ cpuMsPerCall }: LoadFigures) =>
  Object.values(cpuMsPerCall).reduce((sum, each) => sum + each, 0);

export function renderLife(run: LifeRun): string {
  const goals = goalsOf(run).map(
    ({ name, value, holds }) => `| ${name} | ${value} | ${holds ? 'holds' : '**missed**'} |`,
  );
  const rows = run.rows.map((row, at) => {
    const single = run.alone[at];
    const cpu = Object.entries(row.cpuMsPerCall).map(([name, ms]) => `${name} ${ms.toFixed(2)}`);
    return `| ${[
      row.name,
      row.perSecond.toFixed(0),
      row.p50.toFixed(1),
      row.p99.toFixed(1),
      cpu.join(', '),
      single?.p50.toFixed(2),
      single?.p99.toFixed(2),
    ].join(' | ')} |`;
  });
  const profiles = Object.entries(run.profiles).map(([name, places]) =>
    [
      `### Profile: ${name}`,
      '',
      '| Where | Share of the busy time |',
      '|---|---|',
      ...places.map(([place, share]) => `| ${place} | ${(share * 100).toFixed(1)} % |`),
    ].join('\n'),
  );
  return `
Written by \`npm run bench:life\`: all components in one process, beside Postgres, NATS, the upstream
and the load generator on two cores, after ${run.minutes} minutes of mixed load.

| Goal | Here | |
|---|---|---|
${goals.join('\n')}

| Calls | Per second, 32 in flight | p50 ms | p99 ms | CPU ms per call | Alone: p50 ms | p99 ms |
|---|---|---|---|---|---|---|
${rows.join('\n')}

An approved call takes ${run.approvals.p50.toFixed(1)} ms (p99 ${run.approvals.p99.toFixed(1)} ms) from the call to its result: it is suspended, a person
allows it at once, and the agent asks for the result.

The profiles show the own time of the process with all components, 32 calls in flight.

${profiles.join('\n\n')}
`;
}
