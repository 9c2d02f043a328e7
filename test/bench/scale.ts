/**
 * `npm run bench:scale`: measures how the throughput grows with more executors, what a call costs
 * with more gateways and policies, and how much one slow or dead upstream slows down calls to other
 * upstreams.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { components } from '#contracts/vocabulary';
import { orExit } from '#process';
import { startDistributed } from './gateway.ts';
import { measureInTurn } from './load-in-turn.ts';
import { medianOf } from './measure.ts';
import { callAtSteadyRate, measureSteadyRate } from './offer.ts';
import { startProgram } from './processes.ts';
import { goalsOf, renderScale } from './scale-report.ts';
import type {
  ExecutorScaling,
  OtherUpstreamLatencies,
  ReplicaCost,
  ScaleRun,
} from './scale-report.ts';
import { writeReportPart } from './sections.ts';

const seconds = Number(process.env['BENCH_SECONDS'] ?? 20);
const slotsPerExecutor = 32;
/**
 * Calls to one upstream cannot use the last tenth of the slots, and a slot becomes free only a
 * moment after its answer.
 */
const inFlightPerExecutor = 27;
/** Long enough that eight executors with full slots leave most of two processors idle. */
const slotUpstreamMs = 4_000;
const costUpstreamMs = 400;
const inFlightPerGateway = 32;
/** So few that the replicas of all components fit into the embedded Postgres. */
const fewConnections = { DATABASE_CONNECTIONS_MAX: '2' };
/**
 * These settings switch off the limits that divide the executor's slots among orgs, users and
 * identities, because one agent makes all the calls here. test/bench/hogs.ts measures these limits.
 */
const settingsWithoutShares = {
  SHARE_ORG_PERCENT: '100',
  SHARE_USER_PERCENT: '100',
  SHARE_IDENTITY_PERCENT: '100',
};
const slowMs = 15_000;
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3);

await orExit(async () => {
  await using running = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'aag-scale-'));
  running.defer(() => rm(folder, { recursive: true, force: true }));

  const executorScalings: ExecutorScaling[] = [];
  for (const executors of [1, 4, 8]) {
    const figure = await measureExecutors(join(folder, `scaled-${executors}`), executors);
    executorScalings.push(figure);
    printLine(`${executors} executors: ${figure.perSecond.toFixed(1)}/s, ${figure.failed} failed`);
  }
  const replicaCosts = await measureReplicas(folder);
  const otherUpstreamLatencies = await measureOtherUpstreams(join(folder, 'neighbours'));
  const { well, slow, dead, failed } = otherUpstreamLatencies;
  printLine(
    `p99 of the others: ${well.toFixed(0)} ms, ${slow.toFixed(0)} ms beside a slow one, ` +
      `${dead.toFixed(0)} ms beside a dead one; ${failed} failed`,
  );

  const run: ScaleRun = {
    rounds,
    scaled: executorScalings,
    costs: replicaCosts,
    otherUpstreams: otherUpstreamLatencies,
  };
  await writeReportPart('Scale', renderScale(run));
  const goals = goalsOf(run);
  for (const { name, value, holds } of goals)
    printLine(`${holds ? 'holds ' : 'MISSED'} ${name}: ${value}`);
  if (goals.some(({ holds }) => !holds)) throw new Error('A goal was missed.');
});

async function measureExecutors(dataDir: string, executors: number): Promise<ExecutorScaling> {
  await using upstream = startProgram(['test/bench/upstream.ts', String(slotUpstreamMs)]);
  const upstreamUrl = `http://127.0.0.1:${await upstream.find(/port (\d+)/)}`;
  await using gateway = await startDistributed({
    dataDir,
    upstreamUrl,
    replicas: { executor: executors },
    environment: {
      EXECUTOR_IN_FLIGHT_MAX: String(slotsPerExecutor),
      ...fewConnections,
      ...settingsWithoutShares,
    },
  });
  const { perSecond, failed } = await measureSteadyRate(gateway.get, {
    inFlight: inFlightPerExecutor * executors,
    turnMs: slotUpstreamMs,
    turns: Math.ceil((seconds * 1_000) / slotUpstreamMs),
  });
  return { executors, perSecond, failed };
}

/**
 * Measures the CPU time of a call with 1, 2 and 4 gateways and as many policies, while each gateway
 * has the same load. The installations are measured in turn, because the machine's speed varies.
 */
async function measureReplicas(folder: string): Promise<ReplicaCost[]> {
  await using upstream = startProgram(['test/bench/upstream.ts', String(costUpstreamMs)]);
  const upstreamUrl = `http://127.0.0.1:${await upstream.find(/port (\d+)/)}`;
  const measureOnce = async (replicas: number, dataDir: string): Promise<ReplicaCost> => {
    await using gateway = await startDistributed({
      dataDir,
      upstreamUrl,
      replicas: { gateway: replicas, policy: replicas },
      environment: { ...fewConnections, ...settingsWithoutShares },
    });
    const componentPids = components.map((name) => [name, gateway.pidsOf(name)] as const);
    const pids = Object.fromEntries(gateway.rootPids.map((pid) => [String(pid), pid]));
    const targets = gateway.atEachGateway(gateway.get);
    const load = { inFlight: inFlightPerGateway * replicas, pids };
    await measureInTurn(targets, { ...load, seconds: 5 });
    const { perSecond, cpuMsPerCall } = await measureInTurn(targets, { ...load, seconds });
    const costOf = (counted: readonly number[]) =>
      counted.reduce((sum, pid) => sum + (cpuMsPerCall[pid] ?? 0), 0);
    const owned = new Set(componentPids.flatMap(([, each]) => each));
    return {
      replicas,
      perSecond,
      cpuMs: Object.fromEntries([
        ...componentPids.map(([name, each]) => [name, costOf(each)]),
        ['Postgres, NATS', costOf(gateway.rootPids.filter((pid) => !owned.has(pid)))],
      ]),
    };
  };
  const measured: ReplicaCost[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const replicas of [1, 2, 4]) {
      const cost = await measureOnce(replicas, join(folder, `costs-${replicas}-${round}`));
      measured.push(cost);
      printLine(`${replicas} gateways and policies: ${JSON.stringify(cost)}`);
    }
  }
  return [...Map.groupBy(measured, ({ replicas }) => replicas)].map(([replicas, each]) => ({
    replicas,
    perSecond: medianOf(each.map(({ perSecond }) => perSecond)),
    cpuMs: Object.fromEntries(
      Object.keys(each[0]?.cpuMs ?? {}).map((name) => [
        name,
        medianOf(each.map(({ cpuMs }) => cpuMs[name] ?? 0)),
      ]),
    ),
  }));
}

/** Measures the calls to 49 healthy upstreams, for each state of a fiftieth upstream. */
async function measureOtherUpstreams(dataDir: string): Promise<OtherUpstreamLatencies> {
  await using running = new AsyncDisposableStack();
  const healthyUpstream = await startUpstream(running, 250);
  const slowUpstream = await startUpstream(running, 10 * slowMs);
  const deadUpstream = await startUpstream(running, 0);
  await deadUpstream.program[Symbol.asyncDispose]();
  const gateway = running.use(
    await startDistributed({
      dataDir,
      upstreamUrl: healthyUpstream.url(0),
      environment: {
        EGRESS_ALLOW: '127.0.0.0/8',
        EXECUTOR_IN_FLIGHT_MAX: '256',
        ...settingsWithoutShares,
      },
    }),
  );

  // One program serves as many upstreams, because the gateway treats each address of 127.0.0.0/8 as
  // a separate origin.
  const otherTargets = Array.from({ length: 49 }, (_, n) =>
    gateway.raw(healthyUpstream.url(n + 1)),
  );
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
  await measureBeside(healthyUpstream.url(0));
  // The states of the fiftieth upstream are measured in turn, because the machine's speed varies.
  const states = { well: healthyUpstream, slow: slowUpstream, dead: deadUpstream };
  const p99sByState = { well: [] as number[], slow: [] as number[], dead: [] as number[] };
  let failedCount = 0;
  for (let round = 0; round < rounds; round += 1) {
    for (const state of ['well', 'slow', 'dead'] as const) {
      // In each round, the bad upstream has a new address, because the gateway may have learnt that
      // the earlier address is bad.
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
