import type { Tables } from '../e2e/support/database.ts';
import type { Upstream } from '../e2e/support/upstream.ts';
import type { Ledger } from './load.ts';
import { allAnnounced, allEnded, listCalls, listCounts, listExecutorRecords } from './tables.ts';
import type { Call } from './tables.ts';

/** What became of everything, in figures, and each breach of a promise as a sentence. */
export interface Verdict {
  readonly figures: {
    readonly approvals: number;
    readonly allowed: number;
    readonly executed: number;
    readonly unknown: number;
    /** Of the unknown ones, those that did arrive. */
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
  /** How often each event reached the reader of the stream. */
  readonly seen: ReadonlyMap<string, number>;
  /** The most outcomes that may be unknown. */
  readonly unknownMax: number;
}

/**
 * Waits until nothing moves any more, and looks. By the upstream's own log, by SQL and by what
 * clients were told: none of the product's code has a say.
 */
export async function judge(evidence: Evidence): Promise<Verdict> {
  const { tables, upstream, ledger } = evidence;
  const calls = await listCalls(tables);
  const hits = Map.groupBy(
    upstream.hits.map(({ url }) => Number(/^\/orders\/(\d+)$/.exec(url)?.[1])),
    (number) => number,
  );
  const hitsOf = ({ number }: Call) => hits.get(number)?.length ?? 0;
  const unknown = calls.filter(({ error }) => error === 'outcome_unknown');
  const audited = await listCounts(tables, 'audit');
  const breaches = [
    ...lost(calls, ledger),
    ...sentWrongly(calls, hitsOf),
    ...(await stuck(tables)),
    ...miscounted('audit rows', audited, expectedAudit(calls)),
    ...miscounted('feed events', await listCounts(tables, 'feed'), expectedEvents(calls)),
    ...miscounted('streamed events', evidence.seen, expectedEvents(calls)),
    ...miscounted('rules', await listCounts(tables, 'rules'), expectedRules(calls)),
    ...misrecorded(calls, await listExecutorRecords(tables)),
    ...unseen(ledger),
    ...ledger.odd.map((line) => `no client should be told: ${line}`),
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
      auditRows: [...audited.values()].reduce((sum, count) => sum + count, 0),
    },
    breaches,
  };
}

/** A way of asking or deciding that never worked shows nothing, however often it was tried. */
function unseen({ answers }: Ledger): string[] {
  return ['raise by REST: pending_approval', 'raise by MCP: pending_approval']
    .concat(['decide by REST: allowed', 'decide by MCP: allowed'])
    .filter((answer) => !answers.has(answer))
    .map((answer) => `never answered: ${answer}`);
}

/** What a client was told must be so. */
function lost(calls: readonly Call[], { raised, decided }: Ledger): string[] {
  const byId = new Map(calls.map((call) => [call.id, call]));
  return [
    ...[...raised]
      .filter(([id, number]) => byId.get(id)?.number !== number)
      .map(([id, number]) => `lost: approval ${id} of order ${number}`),
    ...[...decided]
      .filter(([id, status]) => byId.get(id)?.status !== status)
      .map(([id, status]) => `lost: ${id} was answered as ${status}, is ${byId.get(id)?.status}`),
  ];
}

/** By the upstream's own count: once where it was executed, at most once where nobody knows, or else never. */
function sentWrongly(calls: readonly Call[], hitsOf: (call: Call) => number): string[] {
  const twice = Map.groupBy(calls, ({ number }) => number);
  return [
    ...[...twice]
      .filter(([, same]) => same.length > 1)
      .map(([number, same]) => `order ${number} was raised ${same.length} times`),
    ...calls.flatMap((call) => {
      const isUnknown = call.error === 'outcome_unknown';
      const expected = isUnknown ? [0, 1] : [call.execution === 'executed' ? 1 : 0];
      const failure =
        call.execution === 'failed' && !isUnknown ? [`${call.id} failed: ${call.error}`] : [];
      const sent = hitsOf(call);
      if (expected.includes(sent)) return failure;
      return [...failure, `${call.id} (${call.status}, ${call.execution}) arrived ${sent} times`];
    }),
  ];
}

async function stuck(tables: Tables): Promise<string[]> {
  return [...(await allEnded(tables)), ...(await allAnnounced(tables))].map(
    (left) => `stuck: ${left}`,
  );
}

function expectedAudit(calls: readonly Call[]): Map<string, number> {
  return ofEach(calls, ({ execution, resolution }) => [
    'approval.raised',
    'approval.resolved',
    ...(resolution === 'allow_remember' ? ['approval.remembered'] : []),
    ...(execution === null ? [] : ['execution.started', 'execution.finished']),
  ]);
}

function expectedEvents(calls: readonly Call[]): Map<string, number> {
  return ofEach(calls, ({ execution }) => [
    'approval.raised',
    'approval.resolved',
    ...(execution === null ? [] : ['execution.finished']),
  ]);
}

function expectedRules(calls: readonly Call[]): Map<string, number> {
  return ofEach(calls, ({ resolution }) => (resolution === 'allow_remember' ? ['rule'] : []));
}

function ofEach(
  calls: readonly Call[],
  typesOf: (call: Call) => readonly string[],
): Map<string, number> {
  return new Map(
    calls.flatMap((call) => typesOf(call).map((type) => [`${type} ${call.id}`, 1] as const)),
  );
}

function miscounted(
  what: string,
  found: ReadonlyMap<string, number>,
  expected: ReadonlyMap<string, number>,
): string[] {
  return [...new Set([...expected.keys(), ...found.keys()])]
    .filter((key) => found.get(key) !== expected.get(key))
    .map((key) => `${what}: ${key} ${found.get(key) ?? 0} times, not ${expected.get(key) ?? 0}`);
}

/** The executor's own records: each intent has its outcome, and one says `called` where it was. */
function misrecorded(
  calls: readonly Call[],
  records: Awaited<ReturnType<typeof listExecutorRecords>>,
): string[] {
  return calls.flatMap(({ id, execution }) => {
    const { intents, outcomes, called } = records.get(id) ?? { intents: 0, outcomes: 0, called: 0 };
    const isRight = intents === outcomes && called === (execution === 'executed' ? 1 : 0);
    return isRight
      ? []
      : [`${id} (${execution}): ${intents} intents, ${outcomes} outcomes, ${called} called`];
  });
}
