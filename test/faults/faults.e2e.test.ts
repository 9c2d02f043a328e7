import { expect, test } from 'vitest';

import { renderOutcome } from './report.ts';
import { runFaults } from './run.ts';
import { roundLength } from './schedule.ts';

const seed = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000_000);

/** Promises 1, 3, 4 and 6 of docs/reference/reliability.md#promises; `npm run faults` is the long run. */
test(
  `nothing is lost, stuck or done twice while everything is killed, stopped and restarted (FAULT_SEED=${seed})`,
  { timeout: 600_000 },
  async () => {
    const outcome = await runFaults({
      seed,
      approvals: 100,
      faults: roundLength,
      everyMs: 1_200,
      say: () => undefined,
    });
    process.stdout.write(`${renderOutcome(outcome)}\n`);
    expect(outcome.breaches).toEqual([]);
  },
);
