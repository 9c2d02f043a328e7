/** `npm run bench`: measures the real thing side by side with what it stands in front of, and writes docs/performance.md. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { orExit } from '#process';
import { item, startDistributed, startEmbedded } from './gateway.ts';
import { startCollector } from './layers.ts';
import { compare, load, measure, medianMsAlone } from './measure.ts';
import type { Compared, Figures, Subject } from './measure.ts';
import { pssMebibytesOf, startProgram, treeOf } from './processes.ts';
import { renderReport, targetsOf } from './report.ts';
import type { Memory, Run } from './report.ts';
import { writeReport } from './scale-report.ts';
import { measureSearch } from './search.ts';

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
  const alone = new Map<string, number>();
  const measureAll = async (subject: Subject) => {
    for (const call of ['GET', 'POST'] as const) {
      const target = call === 'GET' ? subject.get : subject.post;
      await medianMsAlone(target, 200);
      alone.set(`${subject.name} ${call}`, await medianMsAlone(target, 1_000));
      for (const concurrency of concurrencies) {
        const figure = await measure(subject, call, { concurrency, seconds });
        figures.push(figure);
        say(
          `${subject.name}, ${call}, ${concurrency} in flight: ${figure.perSecond.toFixed(0)}/s, ` +
            `p50 ${figure.p50} ms, p99 ${figure.p99} ms, ${figure.cpuSecondsPerThousand.toFixed(2)} CPU s per 1,000, ${figure.pssMebibytes.toFixed(0)} MiB`,
        );
      }
    }
  };
  await measureAll(plain('direct', upstreamUrl, upstream.pid));
  await measureAll(plain('bare Fastify proxy', proxyUrl, proxy.pid));
  const memory = await measureMemory(join(folder, 'memory'), upstreamUrl);
  let compared: Compared;
  let overMcp: Compared;
  {
    await using embedded = await startEmbedded({ dataDir: join(folder, 'embedded'), upstreamUrl });
    const bare = plain('bare Fastify proxy', proxyUrl, proxy.pid);
    compared = await compare(embedded.get, bare.get, { rounds: 11, seconds: 2 });
    say(
      `in turn with the proxy: ${(compared.share * 100).toFixed(1)} % of its throughput, ${compared.timesAlone.toFixed(1)} times its time alone`,
    );
    overMcp = await compare(embedded.mcp, embedded.get, { rounds: 5, seconds: 2 });
    say(
      `over MCP, in turn with REST: ${(overMcp.share * 100).toFixed(0)} % of its throughput, ${overMcp.timesAlone.toFixed(2)} times its time alone`,
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

  const search = await measureSearch();
  say(`search: p50 ${search.p50.toFixed(2)} ms, p99 ${search.p99.toFixed(2)} ms`);

  const run: Run = { compared, overMcp, figures, alone, memory, layers, search };
  await writeReport(renderReport(run));
  const targets = targetsOf(run);
  for (const { name, value, holds } of targets)
    say(`${holds ? 'holds ' : 'MISSED'} ${name}: ${value}`);
  if (targets.some(({ holds }) => !holds)) throw new Error('A target was missed.');
});

function plain(name: string, url: string, pid: number): Subject {
  return {
    name,
    roots: [pid],
    get: { url: `${url}/items/42`, method: 'GET' },
    post: {
      url: `${url}/items`,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(item),
    },
  };
}

/** A fresh installation, so that earlier load does not count. */
async function measureMemory(dataDir: string, upstreamUrl: string): Promise<Memory> {
  await using gateway = await startEmbedded({ dataDir, upstreamUrl });
  const weigh = async () => pssMebibytesOf(await treeOf(gateway.roots));
  await load(gateway.get, { concurrency: 32, amount: 10_000 });
  const afterTenThousand = await weigh();
  await load(gateway.get, { concurrency: 32, amount: 40_000 });
  const afterFiftyThousand = await weigh();
  say(
    `memory: ${afterTenThousand.toFixed(0)} MiB after 10,000 calls, ${afterFiftyThousand.toFixed(0)} after 50,000`,
  );
  return { afterTenThousand, afterFiftyThousand };
}

async function traceLayers(dataDir: string, upstreamUrl: string): Promise<Run['layers']> {
  using collector = await startCollector();
  const layers = new Map<string, ReturnType<typeof collector.medians>>();
  await using gateway = await startEmbedded({
    dataDir,
    upstreamUrl,
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: '1' },
  });
  for (const [name, target] of [
    ['Allowed GET', gateway.get],
    ['Allowed POST', gateway.post],
  ] as const) {
    await medianMsAlone(target, 300);
    await settle();
    collector.reset();
    await medianMsAlone(target, 300);
    await settle();
    layers.set(name, collector.medians());
  }
  return layers;
}

/** Spans are exported in batches, every five seconds. */
function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 6_000));
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
