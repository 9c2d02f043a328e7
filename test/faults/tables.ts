import type { Tables } from '../support/database.ts';

/** An approval and its execution, as stored in the tables. */
export interface Call {
  readonly id: string;
  /** The number of the order, taken from the URL on the approval card. */
  readonly number: number;
  readonly status: string;
  readonly resolution: string | null;
  readonly execution: string | null;
  readonly error: string | null;
}

export async function listCalls({ query }: Tables): Promise<Call[]> {
  return query(
    `select a.id, substring(a.card from '/orders/([0-9]+)')::int as "number", a.status,
            a.resolution, e.status as "execution", e.error::json ->> 'error' as "error"
       from approvals.approval a left join approvals.execution e on e.approval_id = a.id`,
  );
}

/**
 * Returns one sentence for each kind of record of which some have not ended. The list is empty if
 * all records have ended.
 */
export async function listUnendedRecords({ query }: Tables): Promise<string[]> {
  const [row] = await query(
    `select (select count(*)::int from approvals.approval
              where status in ('pending', 'bubbled')) as "open approvals",
            (select count(*)::int from approvals.approval a
              where status = 'allowed' and not exists
                    (select from approvals.execution where approval_id = a.id)
            ) as "allowed calls without an execution",
            (select count(*)::int from approvals.execution
              where finished_at is null) as "unfinished executions",
            (select count(*)::int from executor.dispatch
              where outcome is null) as "dispatches without an outcome",
            (select count(*)::int from approvals.approval a
              where resolution = 'allow_remember' and not exists
                    (select from policy.rule where approval_id = a.id)
            ) as "remembered decisions without a rule"`,
  );
  return sentencesOf(row);
}

const outboxSchemas = ['auth', 'registry', 'policy', 'executor', 'approvals', 'notifier'];

/**
 * Returns one sentence for each kind of event of which some have not reached all their consumers.
 * The list is empty if all events have.
 */
export async function listUnannouncedEvents({ query }: Tables): Promise<string[]> {
  const events = outboxSchemas
    .map((owner) => `select id, body::json -> 'audit' as entry, published_at from ${owner}.outbox`)
    .join(' union all ');
  const [row] = await query(
    `select count(*) filter (where published_at is null)::int as "unpublished events",
            count(*) filter (where json_typeof(entry) = 'object' and r.id is null)::int
              as "unaudited events"
       from (${events}) e left join audit.record r on r.id = e.id`,
  );
  const [feed] = await query(
    `select (select count(*) from approvals.outbox
              where type in ('approval.raised', 'approval.resolved', 'execution.finished'))
            - (select count(*) from notifier.feed_item
                where type in ('approval.raised', 'approval.resolved', 'execution.finished'))
            as "events that are not in the feed"`,
  );
  return [...sentencesOf(row), ...sentencesOf(feed)];
}

function sentencesOf(row: Record<string, number | string>): string[] {
  return Object.entries(row)
    .filter(([, count]) => Number(count) !== 0)
    .map(([countedKind, count]) => `${count} ${countedKind}`);
}

const countedQueries = {
  audit: `select type || ' ' || approval_id as "key" from audit.record
           where (type like 'approval.%' or type like 'execution.%')
             and type <> 'approval.refused'`,
  feed: `select type || ' ' || coalesce(body::json -> 'data' ->> 'approval_id',
                                        body::json -> 'data' ->> 'id') as "key"
           from notifier.feed_item where type like 'approval.%' or type like 'execution.%'`,
  rules: `select 'rule ' || approval_id as "key" from policy.rule where approval_id is not null`,
};

/**
 * Counts the rows of each type for each approval. A key consists of the type and the approval's id.
 */
export async function listCounts(
  { query }: Tables,
  countedKind: keyof typeof countedQueries,
): Promise<Map<string, number>> {
  const rows = await query(
    `select key, count(*)::int as "count" from (${countedQueries[countedKind]}) each group by key`,
  );
  return new Map(rows.map(({ key, count }) => [key, count]));
}

export interface ExecutorRecords {
  readonly intents: number;
  readonly outcomes: number;
  readonly called: number;
}

/** Counts the executor's audit records of each approval's call. */
export async function listExecutorRecords({
  query,
}: Tables): Promise<Map<string, ExecutorRecords>> {
  const rows = await query(
    `select approval_id, count(*) filter (where type = 'action.intent')::int as "intents",
            count(*) filter (where type = 'action.outcome')::int as "outcomes",
            count(*) filter (where type = 'action.outcome' and outcome = 'called')::int as "called"
       from audit.record
      where approval_id is not null and type in ('action.intent', 'action.outcome')
      group by approval_id`,
  );
  return new Map(rows.map(({ approval_id: id, ...records }) => [id, records]));
}

export interface Times {
  /** The median time, in seconds, from the decision to the end of the execution. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /**
   * The longest time, in seconds, of an execution with an unknown outcome; null if there is none.
   */
  readonly unknownMax: number | null;
}

/** Measures how long executions took, by the clock of the database. */
export async function measureTimes({ query }: Tables): Promise<Times> {
  const [row] = await query(
    `with done as (
       select extract(epoch from e.finished_at - a.resolved_at)::float8 as seconds, e.error
         from approvals.execution e join approvals.approval a on a.id = e.approval_id
        where e.finished_at is not null and e.automatic
     )
     select percentile_cont(0.5) within group (order by seconds) as "p50",
            percentile_cont(0.99) within group (order by seconds) as "p99",
            max(seconds) as "max",
            max(seconds) filter (where error is not null) as "unknownMax"
       from done`,
  );
  return row;
}
