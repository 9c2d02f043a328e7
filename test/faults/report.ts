import type { Fault } from './schedule.ts';
import type { Outcome } from './run.ts';

const breachesShownMax = 40;

/** Summarizes the run in a few lines, with broken promises last. */
export function renderOutcome(outcome: Outcome): string {
  const { figures, faults, ledger, times, breaches } = outcome;
  const approvalsPerSecond = figures.approvals / outcome.loadSeconds;
  const longestUnknownText = times.unknownMax === null ? '–' : `${times.unknownMax.toFixed(1)} s`;
  const answers = [...ledger.answers]
    .map(([targetName, count]) => `  ${targetName} ${count}`)
    .toSorted((a, b) => a.localeCompare(b));
  return [
    `${figures.approvals} approvals in ${outcome.loadSeconds.toFixed(0)} s (${approvalsPerSecond.toFixed(1)}/s), quiet ${outcome.settleSeconds.toFixed(1)} s after the last fault`,
    `${faults.length} faults: ${countKinds(faults)}`,
    `${figures.allowed} allowed, ${figures.executed} executed, ${figures.unknown} outcomes unknown (at most ${outcome.unknownMax}), of which ${figures.unknownArrived} had arrived`,
    `${figures.requests} requests at the upstream, ${figures.auditRows} audit rows of transitions, ${outcome.fencedWrites} late writes fenced, stream opened ${outcome.streamConnections} times`,
    `from decision to end: p50 ${times.p50.toFixed(2)} s, p99 ${times.p99.toFixed(1)} s, longest ${times.max.toFixed(1)} s, longest unknown ${longestUnknownText}; slowest answer ${(ledger.slowestMs / 1_000).toFixed(1)} s`,
    'answers to clients:',
    ...answers,
    breaches.length === 0 ? 'no breach' : `${breaches.length} breaches:`,
    ...breaches.slice(0, breachesShownMax).map((breach) => `  ${breach}`),
  ].join('\n');
}

function countKinds(faults: readonly Fault[]): string {
  const faultsByKind = Map.groupBy(faults, (fault) => {
    if (fault.kind === 'reset') return 'everything killed';
    if (fault.kind === 'restart') return `${fault.target} ${fault.how}`;
    const targetName = fault.target.replace(/-\d+$/, '');
    return `${targetName} ${fault.kind === 'kill' ? 'killed' : 'stopped'}`;
  });
  return [...faultsByKind].map(([kind, all]) => `${kind} ${all.length}`).join(', ');
}
