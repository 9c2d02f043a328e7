/**
 * `npm run bench:faults` measures what callers see while replicas and servers are killed, stopped
 * and started again. Each component runs in two processes. Writes the section "Faults" of
 * docs/performance.md.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { components } from '#contracts/vocabulary';
import { orExit } from '#process';
import { provisionTemplates } from '../../provision.ts';
import { signInFirst } from '../faults/actors.ts';
import { startProcesses } from '../faults/processes.ts';
import type { Processes } from '../faults/processes.ts';
import { startServers } from '../faults/servers.ts';
import type { Servers } from '../faults/servers.ts';
import { startBalancer } from '../support/balancer.ts';
import { openTables } from '../support/database.ts';
import { createCallerWithKey } from '../support/http.ts';
import { startUpstream } from '../support/upstream.ts';
import { createAgent, successfulBodyOf } from '../support/world.ts';
import { makeCallsDuring } from './fault-load.ts';
import type { LoadResult } from './fault-load.ts';
import { listBrokenPromises, renderFaults, summariseFault } from './faults-report.ts';
import type { FaultFigures } from './faults-report.ts';
import { writeReportPart } from './sections.ts';

/** Each call takes so long that a component that is killed is always handling some calls. */
const upstreamDelayMs = 100;
const warmUpMs = 1_500;
const standstillMs = 20_000;
/** How long the load continues after a replica's fault has ended. */
const replicaWatchMs = 5_000;
const serverWatchMs = 12_000;
const recordedWithinMs = 30_000;

interface Fault {
  readonly name: string;
  readonly kind: FaultFigures['kind'];
  /** Causes the fault; resolves when the fault is over. */
  readonly runFault: () => Promise<void>;
}

function listFaults(processes: Processes, servers: Servers): Fault[] {
  const killedReplicas = components.map((component): Fault => ({
    name: `SIGKILL of one ${component}`,
    kind: component === 'gateway' ? 'gateway' : 'replica',
    runFault: () => processes.get(`${component}-1`).kill(0),
  }));
  const stoppedReplicas = (['executor', 'gateway'] as const).map((component): Fault => ({
    name: `SIGTERM of one ${component}`,
    kind: component === 'gateway' ? 'gateway' : 'replica',
    runFault: async () => processes.get(`${component}-2`).signal('SIGTERM'),
  }));
  const serverFaults = (['nats', 'postgres'] as const).flatMap((server): Fault[] => {
    const name = { nats: 'NATS', postgres: 'Postgres' }[server];
    return [
      {
        name: `SIGKILL and restart of ${name}`,
        kind: 'server',
        async runFault() {
          await servers.kill(server);
          await servers.start(server);
        },
      },
      {
        name: `SIGSTOP of ${name} for ${standstillMs / 1_000} s`,
        kind: 'server',
        async runFault() {
          await servers.signal(server, 'SIGSTOP');
          await sleep(standstillMs);
          await servers.signal(server, 'SIGCONT');
        },
      },
    ];
  });
  return [...killedReplicas, ...stoppedReplicas, ...serverFaults];
}

// When the run gets one of these signals, it exits. Its child processes end with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

await orExit(async () => {
  await using running = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'aag-bench-faults-'));
  running.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const upstream = running.use(await startUpstream());
  upstream.delayMs = upstreamDelayMs;
  const servers = running.use(await startServers(folder));
  const templateSettings = { TEMPLATES_DIR: 'test/faults/templates', EGRESS_ALLOW: upstream.host };
  await provisionTemplates({ adminUrl: servers.adminUrl, ...templateSettings });
  const balancer = running.use(await startBalancer());
  const { url } = balancer;
  const processes = running.use(
    await startProcesses(folder, {
      ...servers.environment,
      ...templateSettings,
      BASE_URL: url,
      RATE_IDENTITY_PER_MINUTE: '0',
      RATE_USER_PER_MINUTE: '0',
      AUDIT_BYTES_PER_MINUTE: '9999999999',
    }),
  );
  const ports = processes.urls.map((each) => Number(new URL(each).port));
  await Promise.all(ports.map((each) => balancer.add({ port: each, healthPort: each })));
  const owner = await signInFirst(processes);
  const { id, key } = await createAgent(url, owner, 'bench');
  for (const method of ['GET', 'POST']) {
    const pattern = `http:${method}:${upstream.host}/**`;
    successfulBodyOf(await owner.post('/v1/rules', { identity_id: id, effect: 'allow', pattern }));
  }
  const agent = createCallerWithKey(url, key);
  await makeCallsDuring({ agent, upstream }, () => sleep(warmUpMs));

  const nameFilter = process.env['BENCH_FAULTS'] ?? '';
  const measuredFaults: FaultFigures[] = [];
  for (const { name, kind, runFault } of listFaults(processes, servers)) {
    if (!name.includes(nameFilter)) continue;
    let endedAt = 0;
    const loadResult = await makeCallsDuring({ agent, upstream }, async () => {
      await sleep(warmUpMs);
      await runFault();
      endedAt = performance.now();
      await sleep(kind === 'server' ? serverWatchMs : replicaWatchMs);
      await Promise.all(processes.all.map((replica) => replica.untilReady()));
    });
    const records = await countRecords(servers.adminUrl, loadResult);
    const figures = summariseFault({ name, kind, loaded: loadResult, endedAt, records });
    measuredFaults.push(figures);
    process.stdout.write(`${JSON.stringify(figures)}\n`);
  }
  if (nameFilter === '') await writeReportPart('Faults', renderFaults(measuredFaults));
  const failures = measuredFaults.flatMap(listBrokenPromises);
  for (const failure of failures) process.stdout.write(`MISSED ${failure}\n`);
  if (failures.length > 0) throw new Error('A promise was missed.');
});

/** For each answered call, the number of its outcomes in the audit log. */
async function countRecords(adminUrl: string, loadResult: LoadResult): Promise<number[]> {
  // The tables are opened only now, because some of the faults end open connections.
  await using tables = await openTables(adminUrl);
  const ids = loadResult.calls.flatMap(({ auditId }) => auditId ?? []);
  const endsAt = performance.now() + recordedWithinMs;
  for (;;) {
    const rows = await tables.query(
      `select call_id, count(*)::int as n from audit.record
        where type = 'action.outcome' and call_id = any($1::uuid[]) group by call_id`,
      [ids],
    );
    const countByCallId = new Map(rows.map(({ call_id: id, n }) => [id as string, n as number]));
    if (countByCallId.size === ids.length || performance.now() > endsAt) {
      return ids.map((id) => countByCallId.get(id) ?? 0);
    }
    await sleep(500);
  }
}
