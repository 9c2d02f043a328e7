/**
 * `npm run bench:against -- FOLDER` compares this checkout of the repository with the checkout in
 * FOLDER. FOLDER can be a git worktree of an earlier commit in which the packages are installed.
 * The benchmark measures the processor time per call, and the latency of a single call. It measures
 * the two checkouts in turn, because the machine's speed varies. It takes about 10 minutes;
 * BENCH_STARTS, BENCH_ROUNDS and BENCH_SECONDS change that.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { orExit } from '#process';
import { startEmbedded } from './gateway.ts';
import { runLoad, measureLoad, medianMsOfSingleCalls, medianOf } from './measure.ts';
import type { MeasuredProgram } from './measure.ts';
import { startProgram } from './processes.ts';

/**
 * How often both checkouts are started. V8 optimizes differently in each process, so one process
 * may be a fifth faster than another process that runs the same code.
 */
const startsCount = Number(process.env['BENCH_STARTS'] ?? 4);
const roundsCount = Number(process.env['BENCH_ROUNDS'] ?? 4);
const secondsPerMeasurement = Number(process.env['BENCH_SECONDS'] ?? 4);
const callMethods = ['GET', 'POST'] as const;

interface Sample {
  readonly cpuSecondsPerThousand: number;
  readonly perSecond: number;
  readonly cpuRatio: number;
  readonly speedRatio: number;
  readonly latencyRatio: number;
}

type CallMethod = (typeof callMethods)[number];
type Samples = Readonly<Record<CallMethod, Sample[]>>;

/** Starts both checkouts, and measures them in turn. */
async function measureBothCheckouts(
  otherCheckout: string,
  upstreamUrl: string,
  samples: Samples,
): Promise<void> {
  await using running = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'aag-bench-'));
  running.defer(() => rm(folder, { recursive: true, force: true }));
  const start = async (checkout: string, name: string) =>
    running.use(await startEmbedded({ dataDir: join(folder, name), upstreamUrl, checkout }));
  const before = await start(otherCheckout, 'before');
  const after = await start(process.cwd(), 'after');

  for (const call of callMethods) {
    const targetOf = (subject: MeasuredProgram) => (call === 'GET' ? subject.get : subject.post);
    // Warms up both checkouts, because V8 still optimizes during the first 30,000 calls or so.
    for (const subject of [before, after]) {
      await runLoad(targetOf(subject), { concurrency: 32, duration: 15 });
    }
    const measureUnderLoadAndAlone = async (subject: MeasuredProgram) => ({
      underLoad: await measureLoad(subject, call, {
        concurrency: 32,
        seconds: secondsPerMeasurement,
      }),
      aloneMs: await medianMsOfSingleCalls(targetOf(subject), 200),
    });
    for (let round = 0; round < roundsCount; round += 1) {
      // The checkouts take turns in being measured first, because the first checkout's records are
      // still being written to disk while the second checkout is measured, and slow it down.
      const isFirst = round % 2 === 0;
      const first = await measureUnderLoadAndAlone(isFirst ? before : after);
      const second = await measureUnderLoadAndAlone(isFirst ? after : before);
      const [earlier, current] = isFirst ? [first, second] : [second, first];
      samples[call].push({
        cpuSecondsPerThousand: current.underLoad.cpuSecondsPerThousand,
        perSecond: current.underLoad.perSecond,
        cpuRatio: current.underLoad.cpuSecondsPerThousand / earlier.underLoad.cpuSecondsPerThousand,
        speedRatio: current.underLoad.perSecond / earlier.underLoad.perSecond,
        latencyRatio: current.aloneMs / earlier.aloneMs,
      });
    }
  }
}

function renderComparison(call: CallMethod, samples: readonly Sample[]): string {
  const medianOfAll = (of: (sample: Sample) => number) => medianOf(samples.map(of));
  const cpuRatiosByStart = Array.from({ length: startsCount }, (_, at) =>
    samples
      .slice(at * roundsCount, (at + 1) * roundsCount)
      .map(({ cpuRatio }) => cpuRatio.toFixed(2))
      .join(' '),
  ).join(' | ');
  return (
    `${call}, 32 in flight: ${medianOfAll((each) => each.cpuRatio).toFixed(3)} times the processor time ` +
    `(${cpuRatiosByStart}), ${medianOfAll((each) => each.speedRatio).toFixed(3)} times the calls per second; ` +
    `alone ${medianOfAll((each) => each.latencyRatio).toFixed(3)} times the median time. ` +
    `Here ${medianOfAll((each) => each.cpuSecondsPerThousand).toFixed(3)} CPU s per 1,000, ${medianOfAll((each) => each.perSecond).toFixed(0)}/s.\n`
  );
}

await orExit(async () => {
  const other = process.argv[2];
  if (other === undefined) throw new Error('Name the folder of the other checkout.');
  await using running = new AsyncDisposableStack();
  const upstream = running.use(startProgram(['test/bench/upstream.ts']));
  const upstreamUrl = `http://127.0.0.1:${await upstream.find(/port (\d+)/)}`;
  const samples: Samples = { GET: [], POST: [] };
  for (let at = 0; at < startsCount; at += 1)
    await measureBothCheckouts(resolve(other), upstreamUrl, samples);
  for (const call of callMethods) process.stdout.write(renderComparison(call, samples[call]));
});
