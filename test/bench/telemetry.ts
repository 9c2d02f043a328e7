/**
 * `npm run bench:telemetry`: measures what metrics and traces cost a call in CPU time, and writes
 * the section "Telemetry" of docs/performance.md.
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { orExit, repeat } from '#process';
import { startEmbedded } from './gateway.ts';
import type { Gateway } from './gateway.ts';
import { measureLoad, medianOf, runLoad } from './measure.ts';
import { startProgram } from './processes.ts';
import { writeReportPart } from './sections.ts';

const seconds = Number(process.env['BENCH_SECONDS'] ?? 4);
const rounds = 5;
const concurrency = 32;
const warmUpCalls = 5_000;
const healthPort = '18438';
const scrapeEveryMs = 5_000;
const calls = ['GET', 'POST'] as const;

/** A gateway with its telemetry, and the CPU seconds of 1,000 calls in each round. */
interface Mode {
  readonly name: string;
  readonly gateway: Gateway;
  readonly costs: Readonly<Record<(typeof calls)[number], number[]>>;
}

await orExit(async () => {
  await using running = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'aag-bench-'));
  running.defer(() => rm(folder, { recursive: true, force: true }));
  const upstream = running.use(startProgram(['test/bench/upstream.ts']));
  const upstreamUrl = `http://127.0.0.1:${await upstream.find(/port (\d+)/)}`;
  const traces = {
    OTEL_EXPORTER_OTLP_ENDPOINT: await startSink(running),
    OTEL_METRICS_EXPORTER: 'none',
  };

  const modes: Mode[] = [];
  const startMode = async (name: string, environment: Record<string, string>) => {
    const dataDir = join(folder, String(modes.length));
    const gateway = running.use(await startEmbedded({ dataDir, upstreamUrl, environment }));
    for (const call of calls) {
      const target = call === 'GET' ? gateway.get : gateway.post;
      await runLoad(target, { concurrency, amount: warmUpCalls });
    }
    modes.push({ name, gateway, costs: { GET: [], POST: [] } });
  };
  await startMode('off', { OTEL_METRICS_EXPORTER: 'none' });
  await startMode('metrics, scraped every 5 s', { HEALTH_PORT: healthPort });
  await startMode('traces of 5 % of the calls', { ...traces, OTEL_TRACES_SAMPLER_ARG: '0.05' });
  await startMode('traces of all calls', { ...traces, OTEL_TRACES_SAMPLER_ARG: '1' });

  await using _scrapes = repeat(scrapeEveryMs, scrape);
  for (let round = 0; round < rounds; round += 1) {
    for (const call of calls) {
      // The modes are measured in turn, because the machine's speed varies.
      for (const { name, gateway, costs } of modes) {
        const figures = await measureLoad(gateway, call, { concurrency, seconds });
        costs[call].push(figures.cpuSecondsPerThousand);
        process.stdout.write(`${name}, ${call}: ${figures.cpuSecondsPerThousand.toFixed(2)} ms\n`);
      }
    }
  }
  await writeReportPart('Telemetry', renderSection(modes));
});

/** Starts an OTLP endpoint that takes everything and keeps nothing. */
async function startSink(running: AsyncDisposableStack): Promise<string> {
  const server = createServer((request, reply) => {
    request.resume().on('end', () => reply.setHeader('content-type', 'application/json').end('{}'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  running.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function scrape(): Promise<void> {
  const reply = await fetch(`http://127.0.0.1:${healthPort}/metrics`).catch(() => undefined);
  await reply?.text();
}

/** The median cost of a call, and the median of its ratios to the cost without telemetry. */
function renderCells({ costs }: Mode, off: Mode | undefined): string[] {
  return calls.flatMap((call) => {
    const ratios = costs[call].map((cost, round) => cost / (off?.costs[call][round] ?? 0));
    return [medianOf(costs[call]).toFixed(2), `${medianOf(ratios).toFixed(2)} ×`];
  });
}

function renderSection(modes: readonly Mode[]): string {
  const rows = modes.map((mode) => `| ${mode.name} | ${renderCells(mode, modes[0]).join(' | ')} |`);
  return `
Written by \`npm run bench:telemetry\`, on the same kind of machine: CPU time of the embedded whole
(its Postgres and NATS included) in ms per call, with ${concurrency} calls in flight. Four gateways run, one
with each kind of telemetry, and take turns: medians of ${rounds} rounds of ${seconds} s each. *To off*: median of the ratios
within a round. Traces go to an OTLP endpoint on the same machine, whose own time is not counted.

| Telemetry | GET | to off | POST | to off |
|---|---|---|---|---|
${rows.join('\n')}
`;
}
