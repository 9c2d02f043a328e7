import { readFile, writeFile } from 'node:fs/promises';

const file = 'docs/performance.md';
const heading = '\n## Scale\n';

/** Writes the report of `npm run bench`, and keeps the section of `npm run bench:scale` behind it. */
export async function writeReport(report: string): Promise<void> {
  const [, scale] = (await readFile(file, 'utf8')).split(heading);
  await writeFile(file, scale === undefined ? report : `${report}${heading}${scale}`);
}

/** Writes the section of `npm run bench:scale` behind the report of `npm run bench`. */
export async function writeScale(scale: string): Promise<void> {
  const [report] = (await readFile(file, 'utf8')).split(heading);
  await writeFile(file, `${report}${heading}${scale}`);
}

export interface Scaled {
  readonly executors: number;
  readonly perSecond: number;
  /** Answers that were not 2xx. */
  readonly failed: number;
}

export interface Neighbours {
  /** p99 of the other upstreams' calls, in milliseconds: while all are well, and in each trouble of one. */
  readonly well: number;
  readonly slow: number;
  readonly dead: number;
  readonly failed: number;
}

export interface ScaleRun {
  readonly scaled: readonly Scaled[];
  readonly neighbours: Neighbours;
}

export interface Goal {
  readonly name: string;
  readonly value: string;
  readonly holds: boolean;
}

export function goalsOf({ scaled, neighbours }: ScaleRun): Goal[] {
  const alone = scaled[0]?.perSecond ?? 0;
  const times = scaled.slice(1).map(({ executors, perSecond }) => ({
    name: `${executors} executors: throughput of one, at least ${(0.85 * executors).toFixed(1)} times`,
    value: `${(perSecond / alone).toFixed(2)} ×`,
    holds: perSecond / alone >= 0.85 * executors,
  }));
  const { well, slow, dead } = neighbours;
  const ratios = Object.entries({ slow, dead }).map(([trouble, p99]) => ({
    name: `one ${trouble} upstream among 50: p99 of the others, at most 1.1 times`,
    value: `${(p99 / well).toFixed(2)} ×`,
    holds: p99 / well <= 1.1,
  }));
  return [...times, ...ratios];
}

export function renderScale(run: ScaleRun): string {
  const goals = goalsOf(run).map(
    ({ name, value, holds }) => `| ${name} | ${value} | ${holds ? 'holds' : '**missed**'} |`,
  );
  const rows = run.scaled.map(
    ({ executors, perSecond, failed }) => `| ${executors} | ${perSecond.toFixed(1)} | ${failed} |`,
  );
  const { well, slow, dead, failed } = run.neighbours;
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
