import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { createRandom } from '../e2e/kill/random.ts';
import { provisionTemplates } from '../../provision.ts';
import { openTables } from '../e2e/support/database.ts';
import type { Tables } from '../e2e/support/database.ts';
import { startUpstream } from '../e2e/support/upstream.ts';
import { createCaller, signIn } from '../support/http.ts';
import { prepareActors } from './actors.ts';
import type { Session } from './actors.ts';
import { injectFaults } from './inject.ts';
import { judge } from './judge.ts';
import type { Verdict } from './judge.ts';
import { startLoad } from './load.ts';
import type { Ledger } from './load.ts';
import { startProcesses } from './processes.ts';
import type { Processes } from './processes.ts';
import { replicasOf } from './schedule.ts';
import type { Fault } from './schedule.ts';
import { startServers } from './servers.ts';
import { allAnnounced, allEnded, measureTimes } from './tables.ts';
import type { Times } from './tables.ts';
import { watchEvents } from './watch.ts';
import type { Watch } from './watch.ts';

export interface Run {
  /** Of the schedule of faults. */
  readonly seed: number;
  /** The load goes on until so many have been decided, and so many faults have begun. */
  readonly approvals: number;
  readonly faults: number;
  /** Between two faults, on average. */
  readonly everyMs: number;
  /** Told what happens, line by line. */
  readonly say: (line: string) => void;
}

export interface Outcome extends Verdict {
  readonly faults: readonly Fault[];
  readonly ledger: Ledger;
  readonly times: Times;
  readonly loadSeconds: number;
  /** From the last fault until nothing moved any more. */
  readonly settleSeconds: number;
  readonly unknownMax: number;
  readonly streamConnections: number;
  /** Late writes that a fence kept out, by the logs. */
  readonly fenced: number;
}

/** Calls that one executor has in flight at most. */
const inFlightMax = 32;
/** Longer than every lease, deadline and backoff that may still have to run out. */
const settleMs = 150_000;

/** Plays a whole run on servers and processes of its own, and judges it. */
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
  const watch = running.use(await watchEvents(processes.urls, actors.cookie));
  run.say('everything serves');

  const startedAt = performance.now();
  const load = startLoad(actors);
  const injection = injectFaults({ ...run, processes, servers, random: createRandom(run.seed) });
  const { ledger } = load;
  let said = 0;
  while (ledger.decided.size < run.approvals || injection.faults.length < run.faults) {
    await sleep(200);
    if (ledger.decided.size < said + 1_000) continue;
    said = ledger.decided.size;
    run.say(`${said} decided, ${injection.faults.length} faults`);
  }
  // No more faults, but those in hand still fall into the rest of the load.
  await Promise.all([load.drain(), injection.heal()]);
  const loadSeconds = (performance.now() - startedAt) / 1_000;
  const healedAt = performance.now();
  const tables = running.use(await openTables(servers.adminUrl));
  await untilQuiet(tables, watch);
  const settleSeconds = (performance.now() - healedAt) / 1_000;

  const unknownMax = countForUnknown(injection.faults) * inFlightMax;
  const verdict = await judge({ tables, upstream, ledger, seen: watch.seen, unknownMax });
  const [url = ''] = processes.urls;
  const owner = createCaller(url, { cookie: actors.cookie, origin: url });
  const chain = (await owner.get('/v1/audit/verify')).body as { valid?: boolean };
  const breaches = [
    ...verdict.breaches,
    ...processes.crashes.map((crash) => `a process ended by itself: ${crash}`),
    ...(chain.valid === true ? [] : [`the audit chain: ${JSON.stringify(chain)}`]),
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
    streamConnections: watch.connections(),
    fenced: await countFenced(processes),
  };
}

/** By the link of the start that was last: it has ended those of the others. */
async function signInFirst(processes: Processes): Promise<Session> {
  for (const { name } of processes.all) {
    const link = /^Sign in: (\S+)$/m.exec(await processes.logOf(name))?.[1];
    const session = link && (await signIn(link).catch(() => undefined));
    if (session) return session;
  }
  throw new Error('no sign-in link works');
}

/** Until all has ended and was announced, or no time is left for it: then the judge names it. */
async function untilQuiet(tables: Tables, watch: Watch): Promise<void> {
  const endsAt = performance.now() + settleMs;
  const left = async () => [...(await allEnded(tables)), ...(await allAnnounced(tables))];
  while (performance.now() < endsAt && (await left()).length > 0) await sleep(500);
  // What is in the feed is still to come to the stream's reader.
  for (let seen = -1; seen !== watch.seen.size;) {
    seen = watch.seen.size;
    await sleep(3_000);
  }
}

/** Faults that may leave a call's outcome unknown, each counted once for every executor that it concerns. */
function countForUnknown(faults: readonly Fault[]): number {
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

async function countFenced(processes: Processes): Promise<number> {
  const logs = await Promise.all(processes.all.map(({ name }) => processes.logOf(name)));
  return logs.join('\n').split('"reason":"fence_lost"').length - 1;
}
