/**
 * `npm run bench:life` measures the gateway as a team uses it: many agents in turn, calls over MCP,
 * calls that change something, approvals, and a start. All components run in one process. First the
 * gateway gets BENCH_MINUTES (5) of mixed load, then each row is measured. It takes about eight
 * minutes.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { orExit } from '#process';
import { startBacking } from '../../launch.ts';
import { openTables } from '../support/database.ts';
import { createAgent } from '../support/world.ts';
import { measureApprovals } from './approvals.ts';
import { prepareGateway, settingsFor, startArguments, startEmbedded } from './gateway.ts';
import type { Gateway } from './gateway.ts';
import { goalsOf, renderLife } from './life-report.ts';
import type { LifeRun } from './life-report.ts';
import { createReaders } from './life-world.ts';
import { measureInTurn } from './load-in-turn.ts';
import { medianOf } from './measure.ts';
import type { Target } from './measure.ts';
import { startProgram } from './processes.ts';
import { readProfile } from './profile.ts';
import type { ProfileRow } from './profile.ts';
import { writeReportPart } from './sections.ts';

const minutes = Number(process.env['BENCH_MINUTES'] ?? 5);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 10);
const inFlight = 32;
const startsCount = 5;
const approvalsCount = 300;

await orExit(async () => {
  await using running = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'aag-life-'));
  running.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const upstream = running.use(startProgram(['test/bench/upstream.ts']));
  const upstreamUrl = `http://127.0.0.1:${await upstream.find(/port (\d+)/)}`;
  const proxy = running.use(startProgram(['test/bench/proxy.ts', upstreamUrl]));
  const proxyUrl = `http://127.0.0.1:${await proxy.find(/port (\d+)/)}`;

  const run: LifeRun = {
    ...(await measureCalls(join(folder, 'calls'), { upstreamUrl, proxyUrl, proxyPid: proxy.pid })),
    minutes,
    startMs: await measureStarts(join(folder, 'starts'), upstreamUrl),
    profiles: {
      'Allowed GET': await profile(join(folder, 'profile-get'), upstreamUrl, ({ get }) => get),
      'Allowed POST': await profile(join(folder, 'profile-post'), upstreamUrl, ({ post }) => post),
    },
  };
  await writeReportPart('Life', renderLife(run));
  for (const { name, value, holds } of goalsOf(run)) {
    process.stdout.write(`${holds ? 'holds ' : 'MISSED'} ${name}: ${value}\n`);
  }
});

async function measureCalls(
  dataDir: string,
  { upstreamUrl, proxyUrl, proxyPid }: { upstreamUrl: string; proxyUrl: string; proxyPid: number },
): Promise<Pick<LifeRun, 'rows' | 'alone' | 'approvals'>> {
  await using running = new AsyncDisposableStack();
  const environment = {
    RATE_PUBLIC_PER_MINUTE: '0',
    RATE_SIGN_IN_PER_MINUTE: '100000',
    APPROVALS_RAISED_PER_HOUR: '100000',
  };
  const settings = { ...settingsFor({ dataDir, upstreamUrl, environment }), PORT: '18438' };
  const backing = running.use(await startBacking(settings, { dataDir }));
  const program = running.use(
    startProgram(startArguments, { ...backing.environment, DATA_DIR: `${dataDir}-start` }),
  );
  const gateway = await prepareGateway('', await program.find(/Sign in: (\S+)/), upstreamUrl);
  const tables = running.use(await openTables(backing.adminUrl));
  printLine('creating 1,000 agents of 100 orgs');
  const readers = await createReaders(tables.query, { url: gateway.url, upstreamUrl });
  const asker = await createAgent(gateway.url, gateway.admin, 'asker');

  const [postgres = 0, nats = 0] = backing.pids;
  const pids = { components: program.pid, Postgres: postgres, NATS: nats };
  printLine(`${minutes} minutes of mixed load`);
  const mixedTargets = readers.flatMap((reader, at) => [
    reader,
    ...(at % 4 === 0 ? [gateway.post] : []),
    ...(at % 8 === 0 ? [gateway.mcp] : []),
  ]);
  await measureInTurn(mixedTargets, { inFlight, seconds: minutes * 60, pids });

  const proxyTarget: Target = { url: `${proxyUrl}/items/42`, method: 'GET' };
  const subjects: readonly [name: string, targets: readonly Target[]][] = [
    ['bare Fastify proxy', [proxyTarget]],
    ['GET, 1 agent', [gateway.get]],
    ['GET, 1,000 agents of 100 orgs in turn', readers],
    ['GET over MCP, 1 agent', [gateway.mcp]],
    ['POST with two disclosed fields, 1 agent', [gateway.post]],
  ];
  const rows: LifeRun['rows'][number][] = [];
  const alone: LifeRun['alone'][number][] = [];
  for (const [name, targets] of subjects) {
    const pidsOfRow = targets[0] === proxyTarget ? { proxy: proxyPid } : pids;
    const figures = await measureInTurn(targets, { inFlight, seconds, pids: pidsOfRow });
    rows.push({ name, ...figures });
    const single = await measureInTurn(targets, { inFlight: 1, seconds, pids: pidsOfRow });
    alone.push({ name, ...single });
    printLine(`${name}: ${figures.perSecond.toFixed(0)}/s, alone ${single.p50.toFixed(2)} ms`);
  }
  const approvals = await measureApprovals(asker, gateway.admin, approvalsCount);
  return { rows, alone, approvals };
}

/**
 * Starts the program with existing data several times. Returns the median time until its first
 * answered call.
 */
async function measureStarts(dataDir: string, upstreamUrl: string): Promise<number> {
  let target: Target;
  {
    await using first = await startEmbedded({ dataDir, upstreamUrl });
    target = first.get;
  }
  const durations: number[] = [];
  for (let start = 0; start < startsCount; start += 1) {
    const settings = settingsFor({ dataDir, upstreamUrl });
    const { port } = new URL(target.url);
    const startedAt = performance.now();
    await using _program = startProgram(startArguments, {
      ...settings,
      DATA_DIR: dataDir,
      PORT: port,
    });
    await waitForAnswer(target);
    durations.push(performance.now() - startedAt);
  }
  return medianOf(durations);
}

async function waitForAnswer({ url, method, headers = {}, body = '' }: Target): Promise<void> {
  for (let attempt = 0; attempt < 3_000; attempt += 1) {
    const reply = await fetch(url, { method, headers, body }).catch(() => undefined);
    await reply?.arrayBuffer();
    if (reply?.ok === true) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`${url} did not answer within 30 s`);
}

/** Measures in which code the process of all components spends its time under load. */
async function profile(
  dataDir: string,
  upstreamUrl: string,
  targetOf: (gateway: Gateway) => Target,
): Promise<ProfileRow[]> {
  const profileFolder = `${dataDir}-cpu`;
  await mkdir(profileFolder);
  {
    await using gateway = await startEmbedded({
      dataDir,
      upstreamUrl,
      nodeOptions: ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`],
    });
    const pids = {};
    await measureInTurn([targetOf(gateway)], { inFlight, seconds: seconds * 2, pids });
  }
  return readProfile(profileFolder);
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}
