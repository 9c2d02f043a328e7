import type { Tables } from '../e2e/support/database.ts';

/** An approval and its execution, as the tables have them. */
export interface Call {
  readonly id: string;
  /** Of the order: from the address that the approver was shown. */
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

/** What has not ended, as sentences; none when all has. */
export async function allEnded({ query }: Tables): Promise<string[]> {
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
              where outcome is null) as "dispatches without an outcome"`,
  );
  return sentencesOf(row);
}

const outboxes = ['auth', 'registry', 'policy', 'executor', 'approvals', 'notifier'];

/** Events that have not reached all their readers, as sentences; none when all have. */
export async function allAnnounced({ query }: Tables): Promise<string[]> {
  const events = outboxes
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
    .map(([what, count]) => `${count} ${what}`);
}

const counted = {
  audit: `select type || ' ' || approval_id as "key" from audit.record
           where (type like 'approval.%' or type like 'execution.%')
             and type <> 'approval.refused'`,
  feed: `select type || ' ' || coalesce(body::json -> 'data' ->> 'approval_id',
                                        body::json -> 'data' ->> 'id') as "key"
           from notifier.feed_item where type like 'approval.%' or type like 'execution.%'`,
  rules: `select 'rule ' || approval_id as "key" from policy.rule where approval_id is not null`,
};

/** How many rows there are of each type about each approval. */
export async function listCounts(
  { query }: Tables,
  what: keyof typeof counted,
): Promise<Map<string, number>> {
  const rows = await query(
    `select key, count(*)::int as "count" from (${counted[what]}) each group by key`,
  );
  return new Map(rows.map(({ key, count }) => [key, count]));
}

export interface ExecutorRecords {
  readonly intents: number;
  readonly outcomes: number;
  readonly called: number;
}

/** What the executor has put on record about each approval's call. */
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
  /** From the decision to the end of an execution, in seconds. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** The same of those whose outcome is unknown; null where there are none. */
  readonly unknownMax: number | null;
}

/** How long executions took, by the database's clock. */
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
