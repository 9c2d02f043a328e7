import { expect, test } from 'vitest';

import { renderOutcome } from './report.ts';
import { runFaults } from './run.ts';
import { sampleSeed, sampledRound, wholeRound } from './schedule.ts';
import { chooseSeed, chooseSweepValue } from '../support/sweeps.ts';

const seed = chooseSeed(sampleSeed);

/**
 * A short run that checks promises 1, 3, 4 and 6 of docs/reference/reliability.md#promises. `npm
 * run faults` makes a long run.
 */
test(
  `no call is lost, stuck or sent twice while processes and servers are killed, stopped and restarted (TEST_SEED=${seed})`,
  { timeout: 1_200_000 },
  async () => {
    const outcome = await runFaults({
      seed,
      approvals: 100,
      round: chooseSweepValue({ sampled: sampledRound, whole: wholeRound }),
      everyMs: chooseSweepValue({ sampled: 600, whole: 1_200 }),
      say: () => undefined,
    });
    process.stdout.write(`${renderOutcome(outcome)}\n`);
    expect(outcome.breaches).toEqual([]);
  },
);
