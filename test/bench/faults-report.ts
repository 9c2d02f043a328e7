import type { LoadResult, LoadedCall } from './fault-load.ts';

/** What the callers that make one kind of calls saw. */
interface CallSummary {
  readonly called: number;
  /** The number of failed calls by error code; `reset` counts the connections that were reset. */
  readonly failed: Readonly<Record<string, number>>;
  readonly p99Ms: number;
  readonly longestMs: number;
}

export interface FaultFigures {
  readonly name: string;
  readonly kind: 'replica' | 'gateway' | 'server';
  readonly reads: CallSummary;
  readonly nonReads: CallSummary;
  /**
   * The time from the end of the fault until both a read and a non-read that began later have
   * succeeded.
   */
  readonly recoveryMs: number;
  readonly sentTwice: number;
  /**
   * `unrecorded` is the number of answered calls without an outcome in the audit log, and
   * `recordedTwice` the number of answered calls with more than one.
   */
  readonly unrecorded: number;
  readonly recordedTwice: number;
}

const readMsMax = 2_000;
const recoveryMsMax = 30_000;

/**
 * Earlier figures for comparison. At that time, a request to a dead replica was not yet sent to
 * another replica.
 */
const figuresBeforeRetries: Readonly<Record<string, string>> = {
  'SIGKILL of one executor': '203 ok, 8 × unavailable; p99 38.0 s',
  'SIGTERM of one executor': '612 ok',
  'SIGKILL of one policy': '329 ok, 7 × unavailable after 5.0 s',
  'SIGKILL of one auth': '731 ok',
  'SIGKILL of one audit': '712 ok',
  'SIGKILL of one registry': '1698 ok',
  'SIGKILL of one gateway': '9 × reset',
  'SIGTERM of one gateway': '2 × reset',
};

export function summariseFault({
  name,
  kind,
  loaded: { calls, sentTwice },
  endedAt,
  records,
}: Pick<FaultFigures, 'name' | 'kind'> & {
  readonly loaded: LoadResult;
  readonly endedAt: number;
  /** For each answered call, the number of its outcomes in the audit log. */
  readonly records: readonly number[];
}): FaultFigures {
  const reads = calls.filter((call) => call.kind === 'read');
  const nonReads = calls.filter((call) => call.kind === 'non-read');
  const recoveredAt = Math.max(...[reads, nonReads].map((each) => firstSuccessAt(each, endedAt)));
  return {
    name,
    kind,
    reads: summariseCalls(reads),
    nonReads: summariseCalls(nonReads),
    recoveryMs: recoveredAt - endedAt,
    sentTwice,
    unrecorded: records.filter((count) => count === 0).length,
    recordedTwice: records.filter((count) => count > 1).length,
  };
}

function firstSuccessAt(calls: readonly LoadedCall[], since: number): number {
  const succeededCalls = calls.filter(
    ({ startedAt, outcome }) => startedAt >= since && outcome === 'called',
  );
  return Math.min(...succeededCalls.map(({ endedAt }) => endedAt));
}

function summariseCalls(calls: readonly LoadedCall[]): CallSummary {
  const failed: Record<string, number> = {};
  for (const { outcome } of calls) {
    if (outcome !== 'called') failed[outcome] = (failed[outcome] ?? 0) + 1;
  }
  const durationsMs = calls
    .map(({ startedAt, endedAt }) => endedAt - startedAt)
    .toSorted((left, right) => left - right);
  return {
    called: calls.filter(({ outcome }) => outcome === 'called').length,
    failed,
    p99Ms: durationsMs[Math.floor(durationsMs.length * 0.99)] ?? 0,
    longestMs: durationsMs.at(-1) ?? 0,
  };
}

/** The promises in docs/reference/reliability.md that the figures break. */
export function listBrokenPromises(figures: FaultFigures): string[] {
  const { name, kind, reads, recoveryMs, sentTwice, unrecorded, recordedTwice } = figures;
  const brokenPromises = [
    kind === 'replica' &&
      reads.longestMs > readMsMax &&
      `a read waited for ${toSecondsText(reads.longestMs)}`,
    kind === 'replica' && Object.keys(reads.failed).length > 0 && 'reads failed',
    recoveryMs > recoveryMsMax && `calls worked again only after ${toSecondsText(recoveryMs)}`,
    sentTwice > 0 && `${sentTwice} non-reads reached the upstream twice`,
    unrecorded > 0 && `${unrecorded} calls have no record`,
    recordedTwice > 0 && `${recordedTwice} calls have two records`,
  ];
  return brokenPromises.filter((each) => each !== false).map((what) => `${name}: ${what}`);
}

export function renderFaults(measured: readonly FaultFigures[]): string {
  const rows = measured.flatMap(({ name, reads, nonReads, recoveryMs, ...counts }) => [
    [
      name,
      'reads',
      ...cellsOf(reads),
      toSecondsText(recoveryMs),
      counts.unrecorded + counts.recordedTwice,
      '',
      figuresBeforeRetries[name] ?? '',
    ],
    ['', 'non-reads', ...cellsOf(nonReads), '', '', counts.sentTwice, ''],
  ]);
  return `
Written by \`npm run bench:faults\`, on the same kind of machine: two processes of each component, one
Postgres and one NATS. Eight callers read and four change something at an upstream that takes 100 ms;
each sends its next call when it has the answer to the last one. *Failed*: answers by error code, and
connections that ended without an answer (*reset*). *Back*: from the end of the cause until a read and a
non-read that began afterwards were both answered; *not*: until the measurement ended, all four callers
of non-reads waited for calls that the fault had interrupted. *Records*: answered calls, of both kinds, without
exactly one outcome in the audit log. *Twice*: non-reads that reached the upstream more than once.
*Before*: reads of eight callers, before [ADR 73](adr/0073-requests-to-a-dead-replica.md).

| Fault | Calls | Called | Failed | p99 | Longest | Back | Records | Twice | Before |
|---|---|---|---|---|---|---|---|---|---|
${rows.map((row) => `| ${row.join(' | ')} |`).join('\n')}
`;
}

function cellsOf({ called, failed, p99Ms, longestMs }: CallSummary): (string | number)[] {
  const failures = Object.entries(failed).map(([what, count]) => `${count} × ${what}`);
  return [called, failures.join(', '), toSecondsText(p99Ms), toSecondsText(longestMs)];
}

function toSecondsText(ms: number): string {
  return Number.isFinite(ms) ? `${(ms / 1_000).toFixed(2)} s` : 'not';
}
