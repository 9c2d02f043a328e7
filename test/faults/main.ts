/**
 * `npm run faults`: approvals raised and resolved while processes are killed and stopped and
 * servers restarted. FAULT_SEED replays a schedule; FAULT_APPROVALS says how many approvals.
 */
import { orExit } from '#process';
import { renderOutcome } from './report.ts';
import { runFaults } from './run.ts';
import { roundLength } from './schedule.ts';

const seed = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000_000);
const approvals = Number(process.env['FAULT_APPROVALS'] ?? 10_000);
const everyMs = Number(process.env['FAULT_EVERY_MS'] ?? 6_000);

// Processes of ours must not outlive us: they are ended when we exit.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

await orExit(async () => {
  const say = (line: string) => void process.stdout.write(`${line}\n`);
  say(`FAULT_SEED=${seed} FAULT_APPROVALS=${approvals} FAULT_EVERY_MS=${everyMs}`);
  const outcome = await runFaults({ seed, approvals, faults: roundLength, everyMs, say });
  say(renderOutcome(outcome));
  if (outcome.breaches.length > 0) throw new Error(`Breached with FAULT_SEED=${seed}.`);
});
