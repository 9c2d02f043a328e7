/**
 * `npm run faults` makes and decides approvals while it kills and stops processes and restarts
 * servers. TEST_SEED repeats the faults of an earlier run; FAULT_APPROVALS sets the number of
 * approvals.
 */
import { orExit } from '#process';
import { renderOutcome } from './report.ts';
import { runFaults } from './run.ts';
import { wholeRound } from './schedule.ts';

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000_000);
const approvalCount = Number(process.env['FAULT_APPROVALS'] ?? 10_000);
const everyMs = Number(process.env['FAULT_EVERY_MS'] ?? 6_000);

// When the run gets one of these signals, it exits. Its child processes end with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

await orExit(async () => {
  const printLine = (line: string) => void process.stdout.write(`${line}\n`);
  printLine(`TEST_SEED=${seed} FAULT_APPROVALS=${approvalCount} FAULT_EVERY_MS=${everyMs}`);
  const outcome = await runFaults({
    seed,
    approvals: approvalCount,
    round: wholeRound,
    everyMs,
    say: printLine,
  });
  printLine(renderOutcome(outcome));
  if (outcome.breaches.length > 0) throw new Error(`Breached with TEST_SEED=${seed}.`);
});
