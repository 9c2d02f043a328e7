/**
 * `npm run bench:scale`: measures how the throughput grows with more executors, and how much one
 * slow or dead upstream slows down calls to other upstreams.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import autocannon from 'autocannon';

import { orExit } from '#process';
import { startDistributed } from './gateway.ts';
import { medianOf } from './measure.ts';
import type { Target } from './measure.ts';
import { callAtSteadyRate } from './offer.ts';
import { startProgram } from './processes.ts';
import { goalsOf, renderScale } from './scale-report.ts';
import type { OtherUpstreamLatencies, ExecutorScaling, ScaleRun } from './scale-report.ts';
import { writeReportPart } from './sections.ts';

const seconds = Number(process.env['BENCH_SECONDS'] ?? 20);
const slotsPerExecutor = 64;
/**
 * Switches off the limits that divide the executor's slots among orgs, users and identities,
 * because one agent makes all the calls here. test/bench/hogs.ts measures these limits.
 */
const settingsWithoutShares = {
  SHARE_ORG_PERCENT: '100',
  SHARE_USER_PERCENT: '100',
  SHARE_IDENTITY_PERCENT: '100',
};
const slowMs = 15_000;
const rounds = 3;

await orExit(async () => {
  await using running = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'aag-scale-'));
  running.defer(() => rm(folder, { recursive: true, force: true }));

  const executorScalings: ExecutorScaling[] = [];
  for (const executors of [1, 2, 4]) {
    const figure = await measureExecutors(join(folder, `scaled-${executors}`), executors);
    executorScalings.push(figure);
    printLine(`${executors} executors: ${figure.perSecond.toFixed(1)}/s, ${figure.failed} failed`);
  }
  const otherUpstreamLatencies = await measureOtherUpstreams(join(folder, 'neighbours'));
  const { well, slow, dead, failed } = otherUpstreamLatencies;
  printLine(
    `p99 of the others: ${well.toFixed(0)} ms, ${slow.toFixed(0)} ms beside a slow one, ` +
      `${dead.toFixed(0)} ms beside a dead one; ${failed} failed`,
  );

  const run: ScaleRun = { scaled: executorScalings, otherUpstreams: otherUpstreamLatencies };
  await writeReportPart('Scale', renderScale(run));
  const goals = goalsOf(run);
  for (const { name, value, holds } of goals)
    printLine(`${holds ? 'holds ' : 'MISSED'} ${name}: ${value}`);
  if (goals.some(({ holds }) => !holds)) throw new Error('A goal was missed.');
});

async function measureExecutors(dataDir: string, executors: number): Promise<ExecutorScaling> {
  await using upstream = startProgram(['test/bench/upstream.ts', '1000']);
  const upstreamUrl = `http://127.0.0.1:${await upstream.find(/port (\d+)/)}`;
  await using gateway = await startDistributed({
    dataDir,
    upstreamUrl,
    executors,
    environment: { EXECUTOR_IN_FLIGHT_MAX: String(slotsPerExecutor), ...settingsWithoutShares },
  });
  const connections = Math.round(0.9 * slotsPerExecutor * executors);
  await runAutocannon(gateway.get, { connections, duration: 5 });
  // The load generator hangs up on calls in flight. This pause lets them end, because they would
  // count in the next measurement.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const { requests, non2xx, errors, duration } = await runAutocannon(gateway.get, {
    connections,
    duration: seconds,
  });
  return { executors, perSecond: (requests.total - non2xx) / duration, failed: non2xx + errors };
}

function runAutocannon(
  { url, method, headers = {}, body = '' }: Target,
  load: { connections: number; duration: number },
): Promise<autocannon.Result> {
  return autocannon({ url, method, headers, body, ...load });
}

/** Measures the calls to 49 upstreams that answer well, in each state of a fiftieth upstream. */
async function measureOtherUpstreams(dataDir: string): Promise<OtherUpstreamLatencies> {
  await using running = new AsyncDisposableStack();
  const well = await startUpstream(running, 250);
  const slow = await startUpstream(running, 10 * slowMs);
  const deadUpstream = await startUpstream(running, 0);
  await deadUpstream.program[Symbol.asyncDispose]();
  const gateway = running.use(
    await startDistributed({
      dataDir,
      upstreamUrl: well.url(0),
      environment: {
        EGRESS_ALLOW: '127.0.0.0/8',
        EXECUTOR_IN_FLIGHT_MAX: '256',
        ...settingsWithoutShares,
      },
    }),
  );

  // One program is many upstreams: the gateway treats each address of 127.0.0.0/8 as a separate
  // origin.
  const otherTargets = Array.from({ length: 49 }, (_, n) => gateway.raw(well.url(n + 1)));
  const measureBeside = async (url: string) => {
    const badTarget = gateway.raw(url);
    const badTargetWithTimeout = {
      ...badTarget,
      body: JSON.stringify({ ...JSON.parse(badTarget.body ?? '{}'), timeout_ms: slowMs }),
    };
    const [measured] = await Promise.all([
      callAtSteadyRate(otherTargets, { perSecond: 40, seconds }),
      callAtSteadyRate([badTargetWithTimeout], { perSecond: 20, seconds, atFirst: 300 }),
    ]);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    return measured;
  };
  await measureBeside(well.url(0));
  // The states of the fiftieth upstream are measured in turn, because the machine's speed varies.
  const states = { well, slow, dead: deadUpstream };
  const p99sByState = { well: [] as number[], slow: [] as number[], dead: [] as number[] };
  let failedCount = 0;
  for (let round = 0; round < rounds; round += 1) {
    for (const state of ['well', 'slow', 'dead'] as const) {
      // Each round calls a bad upstream at a new address, because the gateway may have learnt that
      // the last round's address is bad.
      const measured = await measureBeside(states[state].url(state === 'well' ? 0 : round));
      p99sByState[state].push(measured.p99);
      failedCount += measured.failed;
    }
  }
  return {
    well: medianOf(p99sByState.well),
    slow: medianOf(p99sByState.slow),
    dead: medianOf(p99sByState.dead),
    failed: failedCount,
  };
}

async function startUpstream(running: AsyncDisposableStack, delayMs: number) {
  const program = running.use(startProgram(['test/bench/upstream.ts', String(delayMs)]));
  const port = await program.find(/port (\d+)/);
  return { program, url: (n: number) => `http://127.0.0.${n + 1}:${port}/items/1` };
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}
