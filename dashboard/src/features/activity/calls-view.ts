import type { AuditOutcome, AuditRecord } from '#contracts/audit';
import type { Usage } from '#contracts/http/audit';

export type Tone = 'good' | 'plain' | 'warning' | 'bad';

export const toneClasses: Record<Tone, string> = {
  good: 'text-accent',
  plain: 'text-ink-soft',
  warning: 'text-medium',
  bad: 'text-high',
};

/** The outcomes in the order in which they are shown. */
const outcomeWords: Record<
  Exclude<AuditOutcome, 'started'>,
  { count: string; call: string; tone: Tone }
> = {
  called: { count: 'went through', call: 'Done', tone: 'good' },
  pending_approval: { count: 'asked a person first', call: 'Asked a person', tone: 'plain' },
  denied: { count: 'denied', call: 'Denied', tone: 'bad' },
  refused: { count: 'could not be made', call: 'Refused', tone: 'warning' },
  failed: { count: 'failed', call: 'Failed', tone: 'warning' },
  outcome_unknown: { count: 'with unknown outcome', call: 'Outcome unknown', tone: 'bad' },
};

export interface OutcomeCount {
  readonly words: string;
  readonly tone: Tone;
  readonly count: number;
}

/** How often each outcome occurred, without outcomes that did not occur. */
export function outcomeCountsOf({ items }: Usage): OutcomeCount[] {
  return Object.entries(outcomeWords).flatMap(([outcome, { count: words, tone }]) => {
    const count = items
      .filter(({ key }) => key === outcome)
      .reduce((total, item) => total + item.count, 0);
    return count === 0 ? [] : [{ words, tone, count }];
  });
}

export interface LastCall {
  readonly id: string;
  readonly at: string;
  readonly words: string;
  readonly tone: Tone;
  readonly description: string;
  readonly who: string | null;
  /** Whether `who` decided about the call. Otherwise `who` made the call. */
  readonly isDecider: boolean;
  readonly service: string | null;
  /** The key of the service's template. */
  readonly template: string | null;
  readonly href: string | null;
}

const callTypes = new Set([
  'action.outcome',
  'action.denied',
  'action.refused',
  'approval.raised',
  'approval.resolved',
  'execution.finished',
]);

/**
 * The last calls, each listed once, as its latest record describes it. Equal calls directly after
 * each other, such as a read at intervals, are listed as one call with a count.
 */
export function lastCallsOf(records: readonly AuditRecord[], max: number): LastCall[] {
  const seenCalls = new Set<string>();
  const calls: { readonly call: LastCall; times: number }[] = [];
  for (const record of records) {
    if (!callTypes.has(record.type) || record.outcome === null) continue;
    // The next record in the list is that of the call itself. It has the same content without the
    // words "Replay executed".
    if (record.type === 'execution.finished' && record.outcome === 'called') continue;
    const call = record.approval_id ?? record.call_id ?? record.id;
    if (seenCalls.has(call)) continue;
    seenCalls.add(call);
    const presented = presentCall(record);
    const previous = calls.at(-1);
    if (previous !== undefined && isRepeated(previous.call, presented)) {
      previous.times += 1;
      continue;
    }
    if (calls.length >= max) break;
    calls.push({ call: presented, times: 1 });
  }
  return calls.map(({ call, times }) =>
    times === 1 ? call : { ...call, words: `${call.words} ${times} times` },
  );
}

/** A call with an approval never counts as repeated, because each such call has its own page. */
function isRepeated(one: LastCall, other: LastCall): boolean {
  return (
    one.href === null &&
    other.href === null &&
    one.who === other.who &&
    one.words === other.words &&
    one.service === other.service &&
    one.description === other.description
  );
}

/** A line of the activity: a call, as its latest record describes it, or another event. */
export interface EventLine {
  /** The same for all records of a call, so that its line stays the same while the call goes on. */
  readonly key: string;
  readonly record: AuditRecord;
}

const partTypes = new Set([...callTypes, 'action.intent', 'action.unanswered']);

/** What happened, newest first: one line for each call, and one for each other record. */
export function eventLinesOf(records: readonly AuditRecord[]): EventLine[] {
  const lines = new Map<string, AuditRecord>();
  for (const record of records) {
    const { id, type, outcome, approval_id, call_id } = record;
    const key = partTypes.has(type) ? (approval_id ?? call_id ?? id) : id;
    const known = lines.get(key);
    // The record of the call itself has the same content as the record of its replay, without the
    // words "Replay executed".
    const isReplaced = known?.type === 'execution.finished' && outcome === known.outcome;
    if (known === undefined || isReplaced) lines.set(key, record);
  }
  return [...lines].map(([key, record]) => ({ key, record }));
}

/** The outcome of a record's call. Null for a change of a setting, which has no outcome. */
export function outcomeOf(record: AuditRecord): { words: string; tone: Tone } | null {
  return record.outcome === null ? null : presentCall(record);
}

export function presentCall(record: AuditRecord): LastCall {
  const { id, at, type, outcome, error, failure, description, service, template, identity } =
    record;
  const known =
    outcome === null || outcome === 'started'
      ? { call: 'Started', tone: 'plain' as const }
      : outcomeWords[outcome];
  const hasExpired = type === 'approval.resolved' && error === 'expired';
  const { words, tone } =
    outcome === 'called' && failure !== null
      ? { words: 'Failed there', tone: 'warning' as const }
      : { words: hasExpired ? 'Expired' : known.call, tone: known.tone };
  return {
    id,
    at,
    words,
    tone,
    description: withoutOutcome(description),
    who: identity?.name ?? null,
    isDecider: type === 'approval.resolved',
    service,
    template,
    href: record.approval_id === null ? null : `/approvals/${record.approval_id}`,
  };
}

/**
 * Some descriptions begin with the outcome. It is removed here, because the page shows it beside.
 */
function withoutOutcome(description: string): string {
  return description.replace(
    /^(?:Denied(?: by itself)?|Refused|Expired undecided|Replay \w+): /,
    '',
  );
}
