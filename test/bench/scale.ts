/** `npm run bench:scale`: what more executors give, and what one bad upstream takes from the others. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import autocannon from 'autocannon';

import { orExit } from '#process';
import { startDistributed } from './gateway.ts';
import { medianOf } from './measure.ts';
import type { Target } from './measure.ts';
import { offer } from './offer.ts';
import { startProgram } from './processes.ts';
import { goalsOf, renderScale, writeScale } from './scale-report.ts';
import type { Neighbours, Scaled, ScaleRun } from './scale-report.ts';

const seconds = Number(process.env['BENCH_SECONDS'] ?? 20);
const slots = 64;
/** One agent makes all the calls, and nobody has to be protected from it: test/bench/hogs.ts measures that. */
const undivided = {
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

  const scaled: Scaled[] = [];
  for (const executors of [1, 2, 4]) {
    const figure = await measureExecutors(join(folder, `scaled-${executors}`), executors);
    scaled.push(figure);
    say(`${executors} executors: ${figure.perSecond.toFixed(1)}/s, ${figure.failed} failed`);
  }
  const neighbours = await measureNeighbours(join(folder, 'neighbours'));
  const { well, slow, dead, failed } = neighbours;
  say(
    `p99 of the others: ${well.toFixed(0)} ms, ${slow.toFixed(0)} ms beside a slow one, ` +
      `${dead.toFixed(0)} ms beside a dead one; ${failed} failed`,
  );

  const run: ScaleRun = { scaled, neighbours };
  await writeScale(renderScale(run));
  const goals = goalsOf(run);
  for (const { name, value, holds } of goals)
    say(`${holds ? 'holds ' : 'MISSED'} ${name}: ${value}`);
  if (goals.some(({ holds }) => !holds)) throw new Error('A goal was missed.');
});

async function measureExecutors(dataDir: string, executors: number): Promise<Scaled> {
  await using upstream = startProgram(['test/bench/upstream.ts', '1000']);
  const upstreamUrl = `http://127.0.0.1:${await upstream.find(/port (\d+)/)}`;
  await using gateway = await startDistributed({
    dataDir,
    upstreamUrl,
    executors,
    environment: { EXECUTOR_IN_FLIGHT_MAX: String(slots), ...undivided },
  });
  const connections = Math.round(0.9 * slots * executors);
  await cannon(gateway.get, { connections, duration: 5 });
  // It hangs up on the calls under way, which go on to their end: they are not part of the load.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const { requests, non2xx, errors, duration } = await cannon(gateway.get, {
    connections,
    duration: seconds,
  });
  return { executors, perSecond: (requests.total - non2xx) / duration, failed: non2xx + errors };
}

function cannon(
  { url, method, headers = {}, body = '' }: Target,
  load: { connections: number; duration: number },
): Promise<autocannon.Result> {
  return autocannon({ url, method, headers, body, ...load });
}

/** Fifty upstreams, one of which gets worse: the calls of the other 49, in each of its states. */
async function measureNeighbours(dataDir: string): Promise<Neighbours> {
  await using running = new AsyncDisposableStack();
  const well = await startUpstream(running, 250);
  const slow = await startUpstream(running, 10 * slowMs);
  const dead = await startUpstream(running, 0);
  await dead.program[Symbol.asyncDispose]();
  const gateway = running.use(
    await startDistributed({
      dataDir,
      upstreamUrl: well.url(0),
      environment: { EGRESS_ALLOW: '127.0.0.0/8', EXECUTOR_IN_FLIGHT_MAX: '256', ...undivided },
    }),
  );

  // Each address of 127.0.0.0/8 is an origin of its own.
  const others = Array.from({ length: 49 }, (_, n) => gateway.raw(well.url(n + 1)));
  const beside = async (url: string) => {
    const bad = gateway.raw(url);
    const patient = {
      ...bad,
      body: JSON.stringify({ ...JSON.parse(bad.body ?? '{}'), timeout_ms: slowMs }),
    };
    const [measured] = await Promise.all([
      offer(others, { perSecond: 40, seconds }),
      offer([patient], { perSecond: 20, seconds, atFirst: 300 }),
    ]);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    return measured;
  };
  await beside(well.url(0));
  // In turn, because the machine is not the same from one minute to the next.
  const states = { well, slow, dead };
  const p99s = { well: [] as number[], slow: [] as number[], dead: [] as number[] };
  let failed = 0;
  for (let round = 0; round < rounds; round += 1) {
    for (const state of ['well', 'slow', 'dead'] as const) {
      // Another one each time: what was found out about the last one is no help.
      const measured = await beside(states[state].url(state === 'well' ? 0 : round));
      p99s[state].push(measured.p99);
      failed += measured.failed;
    }
  }
  return {
    well: medianOf(p99s.well),
    slow: medianOf(p99s.slow),
    dead: medianOf(p99s.dead),
    failed,
  };
}

async function startUpstream(running: AsyncDisposableStack, delayMs: number) {
  const program = running.use(startProgram(['test/bench/upstream.ts', String(delayMs)]));
  const port = await program.find(/port (\d+)/);
  return { program, url: (n: number) => `http://127.0.0.${n + 1}:${port}/items/1` };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
