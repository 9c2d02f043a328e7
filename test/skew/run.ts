import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';

import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { prepareActors } from '../faults/actors.ts';
import { judgeRun } from '../faults/judge.ts';
import { startLoad } from '../faults/load.ts';
import type { Ledger } from '../faults/load.ts';
import { listUnannouncedEvents, listUnendedRecords } from '../faults/tables.ts';
import { watchEvents } from '../faults/watch.ts';
import { startReceiver } from '../story/receiver.ts';
import type { Receiver } from '../story/receiver.ts';
import { openTables } from '../support/database.ts';
import type { Tables } from '../support/database.ts';
import { openDeployment } from '../support/deployment.ts';
import type { Deployment, Release } from '../support/deployment.ts';
import { keepNoConnections } from '../support/fetch.ts';
import { createCaller, signInWithNewest } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import { startUpstream } from '../support/upstream.ts';
import { successfulBodyOf, pollUntil } from '../support/world.ts';
import { listFailures, judgeDirectLoad, startDirectLoad } from './direct-load.ts';
import { startServers } from './servers.ts';
import type { Servers } from './servers.ts';

export interface Run {
  /** The release whose migrations and NATS permissions are in place at the start. */
  readonly firstRelease: Release;
  readonly releases: readonly Release[];
  /** For each component, the releases of the replicas that are started first. */
  readonly replicasOf: (component: Component) => readonly Release[];
  /**
   * An answer `unavailable` that took at least this long is not a failure. It has reached a time
   * limit, because the machine may be busy. A message that a component cannot read is refused at
   * once, which takes less time.
   */
  readonly slowMs: number;
  /** What to do while the load runs. The load ends when this function resolves. */
  readonly runUnderLoad: (running: Running) => Promise<void>;
}

export interface Running {
  readonly deployment: Deployment;
  readonly servers: Servers;
  /** Resolves when this many more approvals have been decided. */
  readonly untilDecided: (count: number) => Promise<void>;
  readonly readTraces: () => Promise<Traces>;
}

/** The visible effects of the changes in the next release. */
export interface Traces {
  readonly eventTypes: readonly string[];
  /** The number of audit records with the field that the made-up next release adds. */
  readonly recordsWithRegion: number;
  /** What the processes of each release have logged. */
  readonly logs: readonly string[];
}

export interface Outcome {
  /** One sentence for each failed call and each broken promise. */
  readonly breaches: readonly string[];
  readonly approvals: number;
  readonly directCalls: number;
  readonly auditRows: number;
}

const templatesFolder = fileURLToPath(new URL('../faults/templates', import.meta.url));
const settleMs = 90_000;
/**
 * Runs replicas of several releases at the same time under load. Then checks what clients got, and
 * what the upstream and the audit log contain.
 */
export async function runSideBySide(run: Run): Promise<Outcome> {
  await using running = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'aag-skew-'));
  running.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  running.use(keepNoConnections());
  const upstream = running.use(await startUpstream());
  const receiver = running.use(await startReceiver());
  const servers = running.use(
    await startServers(join(folder, 'servers'), run.firstRelease, {
      TEMPLATES_DIR: templatesFolder,
      EGRESS_ALLOW: `${upstream.host},${new URL(receiver.url).host}`,
    }),
  );
  const logs = join(folder, 'logs');
  await mkdir(logs);
  const deployment = running.use(
    await openDeployment(logs, {
      ...servers.environment,
      APPROVALS_OPEN_PER_REQUESTER: '10000',
      APPROVALS_OPEN_PER_SUBTREE: '10000',
      APPROVALS_RAISED_PER_HOUR: '0',
      RATE_IDENTITY_PER_MINUTE: '0',
      RATE_USER_PER_MINUTE: '0',
    }),
  );
  await Promise.all(
    components.flatMap((component) =>
      run.replicasOf(component).map((release) => deployment.start(component, release)),
    ),
  );
  const { url } = deployment;
  const readLogs = () => Promise.all(run.releases.map((each) => deployment.logsOf(each)));
  const session = await signInWithNewest((await readLogs()).join(''));
  const owner = createCaller(url, { cookie: session.cookie, origin: url });
  const webhook = successfulBodyOf(await owner.post('/v1/webhooks', { url: receiver.url }));
  receiver.secret = webhook.secret;
  const findWebhook = async () => successfulBodyOf(await owner.get(`/v1/webhooks/${webhook.id}`));
  await pollUntil(async () => (await findWebhook()).status === 'active', 'an active webhook');
  const actors = await prepareActors(session, [url], upstream);
  const watch = running.use(await watchEvents([url], session.cookie));
  const tables = running.use(await openTables(servers.adminUrl));

  const load = startLoad(actors, { raisersAtOnce: 1, decidersAtOnce: 3 });
  const directLoad = await startDirectLoad(url, session.cookie, upstream);
  const { ledger } = load;
  const readTraces = async (): Promise<Traces> => ({
    eventTypes: (await tables.query('select distinct type from audit.record')).map(
      ({ type }) => type,
    ),
    recordsWithRegion: await countRegions(tables),
    logs: await readLogs(),
  });
  await run.runUnderLoad({
    deployment,
    servers,
    readTraces,
    async untilDecided(count) {
      const wantedDecisions = ledger.decidedStatuses.size + count;
      await pollUntil(
        () => ledger.decidedStatuses.size >= wantedDecisions,
        `${wantedDecisions} decided approvals`,
      );
    },
  });
  await Promise.all([load.drain(), directLoad.stop()]);
  await untilSettled(tables, watch.eventCounts, receiver);

  const evidence = { tables, upstream, ledger, seen: watch.eventCounts, unknownMax: 0 };
  const verdict = await judgeRun(evidence);
  // A replica of audit in the last release is started, because only that release certainly knows
  // all columns that the audit chain covers.
  await deployment.start('audit', run.releases.at(-1) ?? run.firstRelease);
  const chainVerification = await verifyChain(owner);
  return {
    approvals: verdict.figures.approvals,
    directCalls: directLoad.calls.length,
    auditRows: verdict.figures.auditRows,
    breaches: [
      ...listFailedCalls(ledger, run.slowMs),
      ...listFailures(directLoad, run.slowMs),
      ...verdict.breaches,
      ...(await judgeDirectLoad(directLoad, { tables, upstream })),
      ...judgeDeliveries(watch.eventCounts, receiver),
      ...(await listUnreadableRecords(tables)),
      ...deployment.crashes,
      ...(chainVerification.valid === true
        ? []
        : [`the audit chain: ${JSON.stringify(chainVerification)}`]),
    ],
  };
}

function listFailedCalls({ failures }: Ledger, slowMs: number): string[] {
  return failures
    .filter(({ answer }) => answer?.error !== 'already_resolved')
    .filter(({ answer, tookMs }) => answer?.error !== 'unavailable' || tookMs < slowMs)
    .map(({ what, answer, tookMs }) => `${what}, ${tookMs} ms: ${JSON.stringify(answer)}`);
}

/**
 * Waits until every execution has ended and every event was announced and delivered, or until the
 * time is up.
 */
async function untilSettled(
  tables: Tables,
  seen: ReadonlyMap<string, number>,
  receiver: Receiver,
): Promise<void> {
  const endsAt = performance.now() + settleMs;
  const listUnfinished = async () => [
    ...(await listUnendedRecords(tables)),
    ...(await listUnannouncedEvents(tables)),
    ...judgeDeliveries(seen, receiver),
  ];
  while (performance.now() < endsAt && (await listUnfinished()).length > 0) await sleep(200);
}

/**
 * Asks several times, because a replica that does not know all columns reports the chain as broken.
 * A chain that is really broken is broken for every replica.
 */
async function verifyChain(owner: Caller): Promise<{ readonly valid?: boolean }> {
  for (let attempt = 1; ; attempt += 1) {
    const { body } = await owner.get('/v1/audit/verify');
    if (body.valid === true || attempt === 10) return body;
  }
}

/**
 * Compares the events that the webhook got with the events on the event stream. `judgeRun` checks
 * the latter.
 */
function judgeDeliveries(seen: ReadonlyMap<string, number>, receiver: Receiver): string[] {
  const deliveredKeys = new Set(
    receiver.receivedEvents.map(({ type, data }) => `${type} ${data.approval_id ?? data.id ?? ''}`),
  );
  return [
    ...[...seen.keys()]
      .filter((key) => !deliveredKeys.has(key))
      .map((key) => `never delivered to the webhook: ${key}`),
    ...receiver.refusalReasons.map((problem) => `the webhook's receiver refused: ${problem}`),
  ];
}

async function listUnreadableRecords({ query }: Tables): Promise<string[]> {
  const rows = await query(
    `select id, subject from audit.unreadable u
      where not exists (select from audit.unreadable_recorded where unreadable_id = u.id)`,
  );
  return rows.map(({ id, subject }) => `the unreadable ${id} of ${subject} was never recorded`);
}

async function countRegions({ query }: Tables): Promise<number> {
  const [row] = await query(
    `select count(*)::int as "count" from audit.record r where to_jsonb(r) ->> 'region' is not null`,
  );
  return row.count;
}
