import type { Tables } from '../support/database.ts';
import type { Upstream } from '../support/upstream.ts';
import type { Ledger } from './load.ts';
import {
  listUnannouncedEvents,
  listUnendedRecords,
  listCalls,
  listCounts,
  listExecutorRecords,
} from './tables.ts';
import type { Call } from './tables.ts';

/** How many calls had which outcome, and one sentence for each broken promise. */
export interface Verdict {
  readonly figures: {
    readonly approvals: number;
    readonly allowed: number;
    readonly executed: number;
    readonly unknown: number;
    /** The number of calls with an unknown outcome that did arrive at the upstream. */
    readonly unknownArrived: number;
    readonly requests: number;
    readonly auditRows: number;
  };
  readonly breaches: readonly string[];
}

interface Evidence {
  readonly tables: Tables;
  readonly upstream: Upstream;
  readonly ledger: Ledger;
  /** How often each event arrived on the event stream that the test reads. */
  readonly seen: ReadonlyMap<string, number>;
  /** The most calls that may have an unknown outcome. */
  readonly unknownMax: number;
}

/**
 * Checks the promises when nothing changes any more. It uses the upstream's own log, SQL, and the
 * answers that clients got. It uses none of the product's code.
 */
export async function judgeRun(evidence: Evidence): Promise<Verdict> {
  const { tables, upstream, ledger } = evidence;
  const calls = await listCalls(tables);
  const hitsByOrder = Map.groupBy(
    upstream.hits.map(({ url }) => Number(/^\/orders\/(\d+)$/.exec(url)?.[1])),
    (number) => number,
  );
  const hitsOf = ({ number }: Call) => hitsByOrder.get(number)?.length ?? 0;
  const unknown = calls.filter(({ error }) => error === 'outcome_unknown');
  const auditCounts = await listCounts(tables, 'audit');
  const breaches = [
    ...findLostApprovals(calls, ledger),
    ...findWrongArrivals(calls, hitsOf),
    ...(await findStuckRecords(tables)),
    ...findMiscounts('audit rows', auditCounts, expectedAuditCounts(calls)),
    ...findMiscounts('feed events', await listCounts(tables, 'feed'), expectedEventCounts(calls)),
    ...findMiscounts('streamed events', evidence.seen, expectedEventCounts(calls)),
    ...findMiscounts('rules', await listCounts(tables, 'rules'), expectedRuleCounts(calls)),
    ...findMisrecordedCalls(calls, await listExecutorRecords(tables)),
    ...findUntestedWays(ledger),
    ...ledger.oddAnswers.map((line) => `no client should be told: ${line}`),
    ...(unknown.length > evidence.unknownMax
      ? [`${unknown.length} outcomes are unknown, and ${evidence.unknownMax} may be`]
      : []),
  ];
  return {
    figures: {
      approvals: calls.length,
      allowed: calls.filter(({ status }) => status === 'allowed').length,
      executed: calls.filter(({ execution }) => execution === 'executed').length,
      unknown: unknown.length,
      unknownArrived: unknown.filter((call) => hitsOf(call) > 0).length,
      requests: upstream.hits.length,
      auditRows: [...auditCounts.values()].reduce((sum, count) => sum + count, 0),
    },
    breaches,
  };
}

/**
 * Reports the ways of requesting and deciding that never succeeded in the run. Such a way was not
 * tested.
 */
function findUntestedWays({ answers }: Ledger): string[] {
  return ['raise by REST: pending_approval', 'raise by MCP: pending_approval']
    .concat(['decide by REST: allowed', 'decide by MCP: allowed'])
    .filter((answer) => !answers.has(answer))
    .map((answer) => `never answered: ${answer}`);
}

/**
 * Reports approvals and decisions that clients were told about, and that the tables do not confirm.
 */
function findLostApprovals(
  calls: readonly Call[],
  { orderNumbers: raised, decidedStatuses: decided }: Ledger,
): string[] {
  const callsById = new Map(calls.map((call) => [call.id, call]));
  return [
    ...[...raised]
      .filter(([id, number]) => callsById.get(id)?.number !== number)
      .map(([id, number]) => `lost: approval ${id} of order ${number}`),
    ...[...decided]
      .filter(([id, status]) => callsById.get(id)?.status !== status)
      .map(
        ([id, status]) => `lost: ${id} was answered as ${status}, is ${callsById.get(id)?.status}`,
      ),
  ];
}

/**
 * Reports calls that arrived at the upstream too often or too seldom. An executed call must arrive
 * once, a call with an unknown outcome at most once, and any other call never.
 */
function findWrongArrivals(calls: readonly Call[], hitsOf: (call: Call) => number): string[] {
  const callsByOrder = Map.groupBy(calls, ({ number }) => number);
  return [
    ...[...callsByOrder]
      .filter(([, callsOfOrder]) => callsOfOrder.length > 1)
      .map(([number, callsOfOrder]) => `order ${number} was raised ${callsOfOrder.length} times`),
    ...calls.flatMap((call) => {
      const isUnknown = call.error === 'outcome_unknown';
      const expected = isUnknown ? [0, 1] : [call.execution === 'executed' ? 1 : 0];
      const failure =
        call.execution === 'failed' && !isUnknown ? [`${call.id} failed: ${call.error}`] : [];
      const arrivalCount = hitsOf(call);
      if (expected.includes(arrivalCount)) return failure;
      return [
        ...failure,
        `${call.id} (${call.status}, ${call.execution}) arrived ${arrivalCount} times`,
      ];
    }),
  ];
}

async function findStuckRecords(tables: Tables): Promise<string[]> {
  return [...(await listUnendedRecords(tables)), ...(await listUnannouncedEvents(tables))].map(
    (stuckRecord) => `stuck: ${stuckRecord}`,
  );
}

function expectedAuditCounts(calls: readonly Call[]): Map<string, number> {
  return countOnceForEach(calls, ({ execution, resolution }) => [
    'approval.raised',
    'approval.resolved',
    ...(resolution === 'allow_remember' ? ['approval.remembered'] : []),
    ...(execution === null ? [] : ['execution.started', 'execution.finished']),
  ]);
}

function expectedEventCounts(calls: readonly Call[]): Map<string, number> {
  return countOnceForEach(calls, ({ execution }) => [
    'approval.raised',
    'approval.resolved',
    ...(execution === null ? [] : ['execution.finished']),
  ]);
}

function expectedRuleCounts(calls: readonly Call[]): Map<string, number> {
  return countOnceForEach(calls, ({ resolution }) =>
    resolution === 'allow_remember' ? ['rule'] : [],
  );
}

function countOnceForEach(
  calls: readonly Call[],
  typesOf: (call: Call) => readonly string[],
): Map<string, number> {
  return new Map(
    calls.flatMap((call) => typesOf(call).map((type) => [`${type} ${call.id}`, 1] as const)),
  );
}

function findMiscounts(
  recordKind: string,
  foundCounts: ReadonlyMap<string, number>,
  expected: ReadonlyMap<string, number>,
): string[] {
  return [...new Set([...expected.keys(), ...foundCounts.keys()])]
    .filter((key) => foundCounts.get(key) !== expected.get(key))
    .map(
      (key) =>
        `${recordKind}: ${key} ${foundCounts.get(key) ?? 0} times, not ${expected.get(key) ?? 0}`,
    );
}

/**
 * Checks the executor's audit records of each call. Each intent must have an outcome, and an
 * executed call must have exactly one outcome `called`.
 */
function findMisrecordedCalls(
  calls: readonly Call[],
  records: Awaited<ReturnType<typeof listExecutorRecords>>,
): string[] {
  return calls.flatMap(({ id, execution }) => {
    const { intents, outcomes, called } = records.get(id) ?? { intents: 0, outcomes: 0, called: 0 };
    const isRecordedRight = intents === outcomes && called === (execution === 'executed' ? 1 : 0);
    return isRecordedRight
      ? []
      : [`${id} (${execution}): ${intents} intents, ${outcomes} outcomes, ${called} called`];
  });
}
