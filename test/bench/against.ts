/**
 * `npm run bench:against -- FOLDER` measures this checkout beside another one with its packages
 * installed, for example a git worktree of an earlier commit: processor time per call and the time
 * of a call alone, in turn, because the machine is not the same from one minute to the next.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { orExit } from '#process';
import { startEmbedded } from './gateway.ts';
import { load, measure, medianMsAlone, medianOf } from './measure.ts';
import type { Figures } from './measure.ts';
import { startProgram } from './processes.ts';

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 9);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 4);

await orExit(async () => {
  const other = process.argv[2];
  if (other === undefined) throw new Error('Name the folder of the other checkout.');
  await using running = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'aag-bench-'));
  running.defer(() => rm(folder, { recursive: true, force: true }));
  const upstream = running.use(startProgram(['test/bench/upstream.ts']));
  const upstreamUrl = `http://127.0.0.1:${await upstream.find(/port (\d+)/)}`;
  const [before, after] = await Promise.all(
    [resolve(other), process.cwd()].map((checkout, index) =>
      startEmbedded({ dataDir: join(folder, String(index)), upstreamUrl, checkout }),
    ),
  );
  if (before === undefined || after === undefined) throw new Error('Two gateways were expected.');
  running.use(before);
  running.use(after);

  for (const call of ['GET', 'POST'] as const) {
    const targetOf = (subject: typeof before) => (call === 'GET' ? subject.get : subject.post);
    // V8 goes on optimizing for some 30,000 calls.
    for (const subject of [before, after]) {
      await load(targetOf(subject), { concurrency: 32, duration: 20 });
    }
    const samples: {
      cpu: number;
      perSecond: number;
      cpuRatio: number;
      speedRatio: number;
      aloneRatio: number;
    }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      // What one leaves to be written costs the other, so each is first in every second round.
      const inTurn = round % 2 === 0 ? [before, after] : [after, before];
      const figures = new Map<typeof before, { under: Figures; aloneMs: number }>();
      for (const subject of inTurn) {
        const under = await measure(subject, call, { concurrency: 32, seconds });
        figures.set(subject, { under, aloneMs: await medianMsAlone(targetOf(subject), 200) });
      }
      const [old, now] = [figures.get(before), figures.get(after)];
      if (old === undefined || now === undefined) throw new Error('Both were measured.');
      samples.push({
        cpu: now.under.cpuSecondsPerThousand,
        perSecond: now.under.perSecond,
        cpuRatio: now.under.cpuSecondsPerThousand / old.under.cpuSecondsPerThousand,
        speedRatio: now.under.perSecond / old.under.perSecond,
        aloneRatio: now.aloneMs / old.aloneMs,
      });
    }
    const median = (of: (sample: (typeof samples)[number]) => number) => medianOf(samples.map(of));
    const spread = samples.map(({ cpuRatio }) => cpuRatio.toFixed(2)).join(' ');
    process.stdout.write(
      `${call}, 32 in flight: ${median((each) => each.cpuRatio).toFixed(3)} times the processor time ` +
        `(${spread}), ${median((each) => each.speedRatio).toFixed(3)} times the calls per second; ` +
        `alone ${median((each) => each.aloneRatio).toFixed(3)} times the median time. ` +
        `Here ${median((each) => each.cpu).toFixed(3)} CPU s per 1,000, ${median((each) => each.perSecond).toFixed(0)}/s.\n`,
    );
  }
});
