/**
 * `npm run bench` measures calls through the gateway, calls straight to the upstream, and calls
 * through a plain proxy, in turn. Writes docs/performance.md.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { orExit } from '#process';
import { itemBody, startDistributed, startEmbedded } from './gateway.ts';
import { startCollector } from '../support/collector.ts';
import { mediansOf } from './layers.ts';
import { compareTargets, runLoad, measureLoad, medianMsOfSingleCalls } from './measure.ts';
import type { Comparison, Figures, MeasuredProgram } from './measure.ts';
import { pssMebibytesOf, startProgram, listProcessTree } from './processes.ts';
import { renderReport, targetsOf } from './report.ts';
import type { MemoryFigures, BenchRun } from './report.ts';
import { measureSearch } from './search.ts';
import { writeReportPart } from './sections.ts';

const seconds = Number(process.env['BENCH_SECONDS'] ?? 5);
const concurrencies = [1, 32, 128];

await orExit(async () => {
  await using running = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'aag-bench-'));
  running.defer(() => rm(folder, { recursive: true, force: true }));
  const upstream = running.use(startProgram(['test/bench/upstream.ts']));
  const upstreamUrl = `http://127.0.0.1:${await upstream.find(/port (\d+)/)}`;
  const proxy = running.use(startProgram(['test/bench/proxy.ts', upstreamUrl]));
  const proxyUrl = `http://127.0.0.1:${await proxy.find(/port (\d+)/)}`;

  const figures: Figures[] = [];
  const medianMsByCall = new Map<string, number>();
  const measureAll = async (subject: MeasuredProgram) => {
    for (const call of ['GET', 'POST'] as const) {
      const target = call === 'GET' ? subject.get : subject.post;
      await medianMsOfSingleCalls(target, 200);
      medianMsByCall.set(`${subject.name} ${call}`, await medianMsOfSingleCalls(target, 1_000));
      for (const concurrency of concurrencies) {
        const figure = await measureLoad(subject, call, { concurrency, seconds });
        figures.push(figure);
        printLine(
          `${subject.name}, ${call}, ${concurrency} in flight: ${figure.perSecond.toFixed(0)}/s, ` +
            `p50 ${figure.p50} ms, p99 ${figure.p99} ms, ${figure.cpuSecondsPerThousand.toFixed(2)} CPU s per 1,000, ${figure.pssMebibytes.toFixed(0)} MiB`,
        );
      }
    }
  };
  await measureAll(describeProgram('direct', upstreamUrl, upstream.pid));
  await measureAll(describeProgram('bare Fastify proxy', proxyUrl, proxy.pid));
  const memoryFigures = await measureMemory(join(folder, 'memory'), upstreamUrl);
  let restComparison: Comparison;
  let mcpComparison: Comparison;
  {
    await using embedded = await startEmbedded({ dataDir: join(folder, 'embedded'), upstreamUrl });
    const bareProxy = describeProgram('bare Fastify proxy', proxyUrl, proxy.pid);
    restComparison = await compareTargets(embedded.get, bareProxy.get, { rounds: 11, seconds: 2 });
    printLine(
      `in turn with the proxy: ${(restComparison.throughputRatio * 100).toFixed(1)} % of its throughput, ${restComparison.latencyRatio.toFixed(1)} times its time alone`,
    );
    mcpComparison = await compareTargets(embedded.mcp, embedded.get, { rounds: 5, seconds: 2 });
    printLine(
      `over MCP, in turn with REST: ${(mcpComparison.throughputRatio * 100).toFixed(0)} % of its throughput, ${mcpComparison.latencyRatio.toFixed(2)} times its time alone`,
    );
    await measureAll(embedded);
  }
  {
    await using distributed = await startDistributed({
      dataDir: join(folder, 'distributed'),
      upstreamUrl,
    });
    await measureAll(distributed);
  }
  const layers = await traceLayers(join(folder, 'traced'), upstreamUrl);

  const searchFigures = await measureSearch();
  printLine(
    `search: p50 ${searchFigures.p50.toFixed(2)} ms, p99 ${searchFigures.p99.toFixed(2)} ms`,
  );

  const run: BenchRun = {
    compared: restComparison,
    overMcp: mcpComparison,
    figures,
    alone: medianMsByCall,
    memory: memoryFigures,
    layers,
    search: searchFigures,
  };
  await writeReportPart('report', renderReport(run));
  const targets = targetsOf(run);
  for (const { name, value, holds } of targets)
    printLine(`${holds ? 'holds ' : 'MISSED'} ${name}: ${value}`);
  if (targets.some(({ holds }) => !holds)) throw new Error('A target was missed.');
});

function describeProgram(name: string, url: string, pid: number): MeasuredProgram {
  return {
    name,
    rootPids: [pid],
    get: { url: `${url}/items/42`, method: 'GET' },
    post: {
      url: `${url}/items`,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(itemBody),
    },
  };
}

/**
 * Measures the memory of a fresh installation. After the other measurements, the memory would
 * include their load.
 */
async function measureMemory(dataDir: string, upstreamUrl: string): Promise<MemoryFigures> {
  await using gateway = await startEmbedded({ dataDir, upstreamUrl });
  const measureMebibytes = async () => pssMebibytesOf(await listProcessTree(gateway.rootPids));
  await runLoad(gateway.get, { concurrency: 32, amount: 10_000 });
  const afterTenThousand = await measureMebibytes();
  await runLoad(gateway.get, { concurrency: 32, amount: 40_000 });
  const afterFiftyThousand = await measureMebibytes();
  printLine(
    `memory: ${afterTenThousand.toFixed(0)} MiB after 10,000 calls, ${afterFiftyThousand.toFixed(0)} after 50,000`,
  );
  return { afterTenThousand, afterFiftyThousand };
}

async function traceLayers(dataDir: string, upstreamUrl: string): Promise<BenchRun['layers']> {
  using collector = await startCollector();
  const layers = new Map<string, ReturnType<typeof mediansOf>>();
  await using gateway = await startEmbedded({
    dataDir,
    upstreamUrl,
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: '1' },
  });
  for (const [name, target] of [
    ['Allowed GET', gateway.get],
    ['Allowed POST', gateway.post],
  ] as const) {
    await medianMsOfSingleCalls(target, 300);
    await waitForSpans();
    collector.reset();
    await medianMsOfSingleCalls(target, 300);
    await waitForSpans();
    layers.set(name, mediansOf(collector.spans()));
  }
  return layers;
}

/** Waits until the program has exported its spans. The program exports them every five seconds. */
function waitForSpans(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 6_000));
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}
