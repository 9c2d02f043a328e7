/**
 * `npm run soak -- MINUTES` makes calls at the highest rate that the machine can hold. Some of the
 * calls become approvals, which are cancelled and reported to a webhook. Retention times are
 * divided by 100, or by more in a short run, so that rows become old within a fifth of the run.
 * Every minute, the program prints how much the processes, tables and streams use. It fails if one
 * of these quantities still grows in the second half of the run. Tables from which nothing is ever
 * deleted are printed, but they may grow.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { Agent, request } from 'undici';

import { orExit } from '#process';
import { startDistributed } from '../bench/gateway.ts';
import type { Target } from '../bench/measure.ts';
import { pssMebibytesOf, startProgram, listProcessTree } from '../bench/processes.ts';
import { openTables } from '../support/database.ts';
import { createCaller } from '../support/http.ts';
import { startReceiver } from '../story/receiver.ts';
import type { Tables } from '../support/database.ts';
import { judgeFlatness } from './flatness.ts';
import type { Tolerance } from './flatness.ts';
import { ageRows, keptTables } from './retention.ts';

const minutes = Number(process.argv[2] ?? 60);
const compression = Math.max(100, (7 * 24 * 60) / (minutes / 5));
const sampleEveryMs = 5_000;
const callerCount = 16;
const approvalPauseMs = 100;

interface Load extends AsyncDisposable {
  readonly countAnswered: () => number;
  readonly countRefused: () => number;
}

await orExit(async () => {
  if (!(minutes >= 2)) throw new Error('Say for how many minutes: at least 2.');
  await using running = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'aag-soak-'));
  running.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const upstream = running.use(startProgram(['test/bench/upstream.ts']));
  const upstreamUrl = `http://127.0.0.1:${await upstream.find(/port (\d+)/)}`;
  const receiver = running.use(await startReceiver());
  const environment = {
    EGRESS_ALLOW: [upstreamUrl, receiver.url].map((url) => new URL(url).host).join(),
    APPROVALS_RAISED_PER_HOUR: '0',
  };
  const gateway = running.use(
    await startDistributed({ dataDir: folder, upstreamUrl, environment }),
  );
  const webhook = await gateway.admin.post('/v1/webhooks', {
    url: receiver.url,
    events: ['approval.*'],
  });
  if (webhook.status !== 201) throw new Error(`no webhook: ${JSON.stringify(webhook.body)}`);
  const tables = running.use(await openTables(gateway.adminUrl));
  printLine(
    `${minutes} minutes, ${callerCount} callers; seven days are ${Math.round(604_800 / compression)} s`,
  );

  const load = running.use(startLoad([gateway.get, gateway.get, gateway.post]));
  const approvals = running.use(startApprovals(gateway, `${upstreamUrl}/items`));
  const series = new Map<string, number[]>();
  const startedAt = performance.now();
  let printedAt = startedAt;
  let printedCalls = 0;
  while (performance.now() - startedAt < minutes * 60_000) {
    await sleep(sampleEveryMs);
    await ageRows(tables, compression);
    const sample = await measureAll(gateway, tables);
    for (const [name, value] of sample) series.set(name, [...(series.get(name) ?? []), value]);
    const now = performance.now();
    if (now - printedAt < 60_000) continue;
    const perSecond = ((load.countAnswered() - printedCalls) * 1_000) / (now - printedAt);
    [printedAt, printedCalls] = [now, load.countAnswered()];
    printLine(`\n${Math.round((now - startedAt) / 60_000)} min: ${perSecond.toFixed(0)} calls/s`);
    for (const [name, value] of sample)
      if (!name.startsWith('rows') || value >= 100) printLine(`  ${name}: ${Math.round(value)}`);
  }

  const judgedSeries = [...series].filter(([name]) => !keptTables.includes(name.slice(5)));
  const verdicts = judgedSeries.map(([name, values]) =>
    judgeFlatness(name, values, toleranceOf(name)),
  );
  printLine(
    `\n${load.countAnswered()} calls, ${load.countRefused()} of them not answered with 200; ` +
      `${approvals.countCancelled()} approvals, ${receiver.receivedEvents.length} events delivered`,
  );
  for (const { name, thirdQuarter, lastQuarter, isFlat } of verdicts) {
    if (isFlat && name.startsWith('rows') && thirdQuarter < 100) continue;
    printLine(
      `${isFlat ? 'flat ' : 'GROWS'} ${name}: ${Math.round(thirdQuarter)} -> ${Math.round(lastQuarter)}`,
    );
  }
  if (verdicts.some(({ isFlat }) => !isFlat)) throw new Error('Something grows.');
  if (load.countRefused() > load.countAnswered() / 1_000)
    throw new Error('Too many calls were refused.');
});

function toleranceOf(name: string): Tolerance {
  if (name.startsWith('MiB')) return { factor: 1.25, slack: 64, by: 'lowest' };
  if (name.startsWith('rows')) return { factor: 1.25, slack: 2_000, by: 'highest' };
  return { factor: 1.5, slack: 1_048_576, by: 'highest' };
}

/** Makes calls without a pause. Disposing the result ends the load. */
function startLoad(targets: readonly Target[]): Load {
  const dispatcher = new Agent({ connections: callerCount });
  let isStopped = false;
  let answeredCount = 0;
  let refusedCount = 0;
  const makeCall = async ({ url, method, headers = {}, body = '' }: Target) => {
    const reply = await request(url, { dispatcher, method, headers, body });
    await reply.body.dump();
    answeredCount += 1;
    if (reply.statusCode !== 200) refusedCount += 1;
  };
  const callLoops = Array.from({ length: callerCount }, async (_, caller) => {
    for (let n = caller; !isStopped; n += 1) {
      const target = targets[n % targets.length];
      if (target !== undefined) await makeCall(target).catch(() => void (refusedCount += 1));
    }
  });
  return {
    countAnswered: () => answeredCount,
    countRefused: () => refusedCount,
    async [Symbol.asyncDispose]() {
      isStopped = true;
      await Promise.all(callLoops);
      await dispatcher.close();
    },
  };
}

/**
 * Makes calls that become approvals, and cancels each. This publishes two events to the stream
 * EVENTS and to the webhook.
 */
function startApprovals(
  gateway: Awaited<ReturnType<typeof startDistributed>>,
  url: string,
): AsyncDisposable & { readonly countCancelled: () => number } {
  const agent = createCaller(gateway.url, { ...gateway.get.headers });
  let isStopped = false;
  let cancelledCount = 0;
  const raiseAndCancel = async () => {
    for (let n = 0; !isStopped; n += 1) {
      const call = { service: 'http', method: 'POST', url, body: { n } };
      const { body } = await agent.post('/v1/actions/call', call);
      const reply = await agent.post(`/v1/approvals/${body.approval_id}/cancel`, {});
      if (reply.status !== 200) throw new Error(`not cancelled: ${JSON.stringify(reply.body)}`);
      cancelledCount += 1;
      await sleep(approvalPauseMs);
    }
  };
  const running = raiseAndCancel();
  running.catch(() => undefined);
  return {
    countCancelled: () => cancelledCount,
    async [Symbol.asyncDispose]() {
      isStopped = true;
      await running;
    },
  };
}

async function measureAll(
  gateway: Awaited<ReturnType<typeof startDistributed>>,
  tables: Tables,
): Promise<Map<string, number>> {
  const sample = new Map<string, number>();
  for (const root of gateway.rootPids) {
    const name = `MiB ${await nameOf(root)}`;
    sample.set(
      name,
      (sample.get(name) ?? 0) + (await pssMebibytesOf(await listProcessTree([root]))),
    );
  }
  for (const table of await tables.list()) {
    const [row] = await tables.query(`select count(*)::integer as n from ${table}`);
    sample.set(`rows ${table}`, row?.['n'] as number);
  }
  const { headers = {} } = gateway.get;
  const reply = await fetch(`${gateway.url}/v1/status`, { headers });
  const { streams } = (await reply.json()) as { streams: Record<string, { bytes: number }> };
  for (const [stream, { bytes }] of Object.entries(streams)) sample.set(`bytes ${stream}`, bytes);
  return sample;
}

/**
 * The name of a process, such as `gateway` or `nats-server`: the folder of the component's
 * `main.ts`, or the name of the program.
 */
async function nameOf(pid: number): Promise<string> {
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  const words = line.split('\0');
  const mainPath = words.find((word) => word.endsWith('/main.ts'));
  return mainPath?.split('/')[0] ?? words[0]?.split('/').at(-1) ?? String(pid);
}

function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}
