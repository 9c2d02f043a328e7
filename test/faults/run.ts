import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { createRandom } from '../e2e/kill/random.ts';
import { provisionTemplates } from '../../provision.ts';
import { openTables } from '../support/database.ts';
import type { Tables } from '../support/database.ts';
import { startUpstream } from '../support/upstream.ts';
import { createCaller } from '../support/http.ts';
import { prepareActors, signInFirst } from './actors.ts';
import { injectFaults } from './inject.ts';
import { judgeRun } from './judge.ts';
import type { Verdict } from './judge.ts';
import { startLoad } from './load.ts';
import type { Ledger } from './load.ts';
import { startProcesses } from './processes.ts';
import type { Processes } from './processes.ts';
import { countFaults, replicasOf } from './schedule.ts';
import type { Fault, Round } from './schedule.ts';
import { startServers } from './servers.ts';
import { listUnannouncedEvents, listUnendedRecords, measureTimes } from './tables.ts';
import type { Times } from './tables.ts';
import { watchEvents } from './watch.ts';
import type { Watch } from './watch.ts';

export interface Run {
  /** The seed of the schedule of faults. */
  readonly seed: number;
  /**
   * The load continues until this many approvals have been decided, and until as many faults have
   * begun as one round contains.
   */
  readonly approvals: number;
  readonly round: Round;
  /** The average time between two faults. */
  readonly everyMs: number;
  /** Gets each line that reports progress. */
  readonly say: (line: string) => void;
}

export interface Outcome extends Verdict {
  readonly faults: readonly Fault[];
  readonly ledger: Ledger;
  readonly times: Times;
  readonly loadSeconds: number;
  /** The time from the end of the load until nothing changed any more. */
  readonly settleSeconds: number;
  readonly unknownMax: number;
  readonly streamConnections: number;
  /** The number of late writes that a fencing token prevented, counted in the logs. */
  readonly fencedWrites: number;
}

/** The limit of an executor's calls in flight. */
const inFlightMax = 32;
/** Longer than every lease, deadline and backoff that may still be running. */
const settleMs = 150_000;

/**
 * Starts processes and servers, runs the load and the faults on them, and then checks the promises.
 */
export async function runFaults(run: Run): Promise<Outcome> {
  await using running = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'aag-faults-'));
  let isKept = false;
  running.defer(async () => {
    if (!isKept) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const upstream = running.use(await startUpstream());
  upstream.delayMs = 30;
  const servers = running.use(await startServers(folder));
  const templates = { TEMPLATES_DIR: 'test/faults/templates', EGRESS_ALLOW: upstream.host };
  await provisionTemplates({ adminUrl: servers.adminUrl, ...templates });
  const processes = running.use(
    await startProcesses(folder, {
      ...servers.environment,
      ...templates,
      EXECUTOR_IN_FLIGHT_MAX: String(inFlightMax),
      APPROVALS_OPEN_PER_REQUESTER: '10000',
      APPROVALS_OPEN_PER_SUBTREE: '10000',
      APPROVALS_RAISED_PER_HOUR: '0',
      RATE_IDENTITY_PER_MINUTE: '0',
      RATE_USER_PER_MINUTE: '0',
    }),
  );
  const actors = await prepareActors(await signInFirst(processes), processes.urls, upstream);
  const eventWatch = running.use(await watchEvents(processes.urls, actors.cookie));
  run.say('everything serves');

  const startedAt = performance.now();
  const load = startLoad(actors);
  const injection = injectFaults({ ...run, processes, servers, random: createRandom(run.seed) });
  const { ledger } = load;
  const faultsMin = countFaults(run.round);
  let reportedDecisions = 0;
  while (ledger.decidedStatuses.size < run.approvals || injection.faults.length < faultsMin) {
    await sleep(200);
    if (ledger.decidedStatuses.size < reportedDecisions + 1_000) continue;
    reportedDecisions = ledger.decidedStatuses.size;
    run.say(`${reportedDecisions} decided, ${injection.faults.length} faults`);
  }
  // No new fault begins. The current faults continue while the remaining approvals are decided.
  await Promise.all([load.drain(), injection.heal()]);
  const loadSeconds = (performance.now() - startedAt) / 1_000;
  const healedAt = performance.now();
  const tables = running.use(await openTables(servers.adminUrl));
  await untilQuiet(tables, eventWatch);
  const settleSeconds = (performance.now() - healedAt) / 1_000;

  const unknownMax = unknownMaxOf(injection.faults) * inFlightMax;
  const verdict = await judgeRun({
    tables,
    upstream,
    ledger,
    seen: eventWatch.eventCounts,
    unknownMax,
  });
  const [url = ''] = processes.urls;
  const owner = createCaller(url, { cookie: actors.cookie, origin: url });
  const chainVerification = (await owner.get('/v1/audit/verify')).body as { valid?: boolean };
  const breaches = [
    ...verdict.breaches,
    ...processes.crashes.map((crash) => `a process ended by itself: ${crash}`),
    ...(chainVerification.valid === true
      ? []
      : [`the audit chain: ${JSON.stringify(chainVerification)}`]),
  ];
  isKept = breaches.length > 0;
  if (isKept) run.say(`the logs are in ${folder}`);
  return {
    figures: verdict.figures,
    breaches,
    faults: injection.faults,
    ledger,
    loadSeconds,
    settleSeconds,
    unknownMax,
    times: await measureTimes(tables),
    streamConnections: eventWatch.connections(),
    fencedWrites: await countFencedWrites(processes),
  };
}

/**
 * Waits until every execution has ended and its event has arrived, or until the time is up. If
 * something is missing then, `judgeRun` reports it.
 */
async function untilQuiet(tables: Tables, eventWatch: Watch): Promise<void> {
  const endsAt = performance.now() + settleMs;
  const listUnfinished = async () => [
    ...(await listUnendedRecords(tables)),
    ...(await listUnannouncedEvents(tables)),
  ];
  while (performance.now() < endsAt && (await listUnfinished()).length > 0) await sleep(500);
  // Waits until no more events arrive. Some events may still be on their way to the test's event
  // stream.
  for (let lastSeen = -1; lastSeen !== eventWatch.eventCounts.size;) {
    lastSeen = eventWatch.eventCounts.size;
    await sleep(3_000);
  }
}

/**
 * The number of executors whose calls the faults may have left with an unknown outcome. One fault
 * can affect several executors.
 */
function unknownMaxOf(faults: readonly Fault[]): number {
  return faults
    .map((fault): number => {
      switch (fault.kind) {
        case 'reset':
          return replicasOf.executor;
        case 'restart':
          return fault.target === 'postgres' ? replicasOf.executor : 0;
        case 'kill':
        case 'stop':
          return fault.target.startsWith('executor') ? 1 : 0;
      }
    })
    .reduce((sum, count) => sum + count, 0);
}

async function countFencedWrites(processes: Processes): Promise<number> {
  return (await processes.logs()).split('"reason":"fence_lost"').length - 1;
}
