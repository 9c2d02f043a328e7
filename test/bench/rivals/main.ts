/**
 * `npm run bench:rivals` measures calls over MCP through this gateway and through two other
 * gateways from npm, in turn, and writes the section "Other gateways" of docs/performance.md. It
 * installs the others into a temporary folder. It takes about five minutes.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { orExit } from '#process';
import { startEmbedded } from '../gateway.ts';
import { measureInTurn } from '../load-in-turn.ts';
import type { LoadFigures } from '../load-in-turn.ts';
import { medianOf } from '../measure.ts';
import type { Target } from '../measure.ts';
import { listProcessTree, pssMebibytesOf, startProgram } from '../processes.ts';
import { writeReportPart } from '../sections.ts';
import { installRivals, rivalVersions, startExecutor, startSupergateway } from './programs.ts';

const seconds = Number(process.env['BENCH_SECONDS'] ?? 5);
const rounds = 3;
const inFlightCounts = [1, 8, 32] as const;
const sessionsMax = Math.max(...inFlightCounts);

interface Subject {
  readonly name: string;
  readonly pid: number;
  /** One call for each session; a session has one call in flight. */
  readonly calls: readonly Target[];
}

interface Row {
  readonly name: string;
  readonly inFlight: number;
  readonly figures: LoadFigures;
}

await orExit(async () => {
  await using running = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'aag-rivals-'));
  running.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  printLine('installing the other gateways');
  await installRivals(folder);
  const upstream = running.use(startProgram(['test/bench/upstream.ts']));
  const upstreamUrl = `http://127.0.0.1:${await upstream.find(/port (\d+)/)}`;

  const gateway = running.use(await startEmbedded({ dataDir: join(folder, 'data'), upstreamUrl }));
  const gatewayPid = gateway.rootPids[0] ?? 0;
  const subjects: Subject[] = [
    { name: 'this gateway', pid: gatewayPid, calls: [gateway.mcp] },
    { name: 'this gateway, REST', pid: gatewayPid, calls: [gateway.get] },
  ];
  for (const [name, start] of [
    ['executor', startExecutor],
    ['supergateway', startSupergateway],
  ] as const) {
    const rival = running.use(await start(folder, upstreamUrl));
    subjects.push({ name, pid: rival.pid, calls: await rival.openSessions(sessionsMax) });
  }

  for (const { calls, pid } of subjects) {
    await measureInTurn(calls, { inFlight: sessionsMax, seconds: 2 * seconds, pids: { pid } });
  }
  const rows: Row[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const inFlight of inFlightCounts) {
      // The gateways are measured in turn, because the machine's speed varies.
      for (const { name, pid, calls } of subjects) {
        const targets = calls.slice(0, inFlight);
        const figures = await measureInTurn(targets, { inFlight, seconds, pids: { pid } });
        rows.push({ name, inFlight, figures });
        printLine(`${name}, ${inFlight} in flight: ${figures.perSecond.toFixed(0)}/s`);
      }
    }
  }
  const memory = new Map<string, number>();
  for (const { name, pid } of subjects) {
    memory.set(name, await pssMebibytesOf(await listProcessTree([pid])));
  }
  await writeReportPart('Other gateways', renderSection(rows, memory));
});

function renderSection(rows: readonly Row[], memory: ReadonlyMap<string, number>): string {
  const lines = [...memory].flatMap(([name, mebibytes]) =>
    inFlightCounts.map((inFlight) => {
      const measured = rows.filter((row) => row.name === name && row.inFlight === inFlight);
      const median = (read: (figures: LoadFigures) => number, digits: number) =>
        medianOf(measured.map(({ figures }) => read(figures))).toFixed(digits);
      const cells = [
        name,
        inFlight,
        median(({ perSecond }) => perSecond, 0),
        median(({ p50 }) => p50, 2),
        median(({ p99 }) => p99, 1),
        median(({ cpuMsPerCall }) => cpuMsPerCall['pid'] ?? 0, 2),
        mebibytes.toFixed(0),
      ];
      return `| ${cells.join(' | ')} |`;
    }),
  );
  return `
Written by \`npm run bench:rivals\`, on the same kind of machine: an agent's call over MCP that ends in
one GET of the same upstream, medians of ${rounds} rounds in turn of ${seconds} s each. Each call in flight has an MCP session
of its own where the gateway has sessions. CPU and memory (after the calls) are of all processes of a gateway,
with those that it starts. What each does in a call:

- *this gateway* (everything embedded): checks the agent's key and the permission for this call, adds the
  credential from the vault, checks the address, and stores an audit record in NATS before it
  answers.
- *executor* ${rivalVersions.executor}: checks one shared token, runs the TypeScript of the call in a sandbox, and adds a
  credential that it keeps in a file. The tool of the measurement needs no approval.
- *supergateway* ${rivalVersions.supergateway}: passes the call to a process of an MCP server over stdio, one for each session.
  It has no authentication, permissions or audit log; the MCP server adds the credential.

| Gateway | In flight | Calls/s | p50 ms | p99 ms | CPU ms per call | PSS MiB |
|---|---|---|---|---|---|---|
${lines.join('\n')}
`;
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}
