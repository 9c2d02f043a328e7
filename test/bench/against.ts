/**
 * `npm run bench:against -- FOLDER` measures this checkout beside another one with its packages
 * installed, for example a git worktree of an earlier commit: processor time per call and the time
 * of a call alone, in turn, because the machine is not the same from one minute to the next.
 * Some 10 minutes; BENCH_STARTS, BENCH_ROUNDS and BENCH_SECONDS make it shorter or longer.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { orExit } from '#process';
import { startEmbedded } from './gateway.ts';
import { load, measure, medianMsAlone, medianOf } from './measure.ts';
import type { Subject } from './measure.ts';
import { startProgram } from './processes.ts';

/** The compiler of V8 decides anew in each process, and one may be a fifth faster than the next. */
const starts = Number(process.env['BENCH_STARTS'] ?? 4);
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 4);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 4);
const calls = ['GET', 'POST'] as const;

interface Sample {
  readonly cpu: number;
  readonly perSecond: number;
  readonly cpuRatio: number;
  readonly speedRatio: number;
  readonly aloneRatio: number;
}

type Call = (typeof calls)[number];
type Samples = Readonly<Record<Call, Sample[]>>;

/** Starts both checkouts, and measures each in turn. */
async function compareOnce(other: string, upstreamUrl: string, samples: Samples): Promise<void> {
  await using running = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'aag-bench-'));
  running.defer(() => rm(folder, { recursive: true, force: true }));
  const start = async (checkout: string, name: string) =>
    running.use(await startEmbedded({ dataDir: join(folder, name), upstreamUrl, checkout }));
  const before = await start(other, 'before');
  const after = await start(process.cwd(), 'after');

  for (const call of calls) {
    const targetOf = (subject: Subject) => (call === 'GET' ? subject.get : subject.post);
    // V8 goes on optimizing for some 30,000 calls.
    for (const subject of [before, after]) {
      await load(targetOf(subject), { concurrency: 32, duration: 15 });
    }
    const measureBoth = async (subject: Subject) => ({
      under: await measure(subject, call, { concurrency: 32, seconds }),
      aloneMs: await medianMsAlone(targetOf(subject), 200),
    });
    for (let round = 0; round < rounds; round += 1) {
      // What one leaves to be written costs the other, so each is first in every second round.
      const isFirst = round % 2 === 0;
      const first = await measureBoth(isFirst ? before : after);
      const second = await measureBoth(isFirst ? after : before);
      const [old, now] = isFirst ? [first, second] : [second, first];
      samples[call].push({
        cpu: now.under.cpuSecondsPerThousand,
        perSecond: now.under.perSecond,
        cpuRatio: now.under.cpuSecondsPerThousand / old.under.cpuSecondsPerThousand,
        speedRatio: now.under.perSecond / old.under.perSecond,
        aloneRatio: now.aloneMs / old.aloneMs,
      });
    }
  }
}

function render(call: Call, samples: readonly Sample[]): string {
  const median = (of: (sample: Sample) => number) => medianOf(samples.map(of));
  const spread = Array.from({ length: starts }, (_, at) =>
    samples
      .slice(at * rounds, (at + 1) * rounds)
      .map(({ cpuRatio }) => cpuRatio.toFixed(2))
      .join(' '),
  ).join(' | ');
  return (
    `${call}, 32 in flight: ${median((each) => each.cpuRatio).toFixed(3)} times the processor time ` +
    `(${spread}), ${median((each) => each.speedRatio).toFixed(3)} times the calls per second; ` +
    `alone ${median((each) => each.aloneRatio).toFixed(3)} times the median time. ` +
    `Here ${median((each) => each.cpu).toFixed(3)} CPU s per 1,000, ${median((each) => each.perSecond).toFixed(0)}/s.\n`
  );
}

await orExit(async () => {
  const other = process.argv[2];
  if (other === undefined) throw new Error('Name the folder of the other checkout.');
  await using running = new AsyncDisposableStack();
  const upstream = running.use(startProgram(['test/bench/upstream.ts']));
  const upstreamUrl = `http://127.0.0.1:${await upstream.find(/port (\d+)/)}`;
  const samples: Samples = { GET: [], POST: [] };
  for (let at = 0; at < starts; at += 1) await compareOnce(resolve(other), upstreamUrl, samples);
  for (const call of calls) process.stdout.write(render(call, samples[call]));
});
