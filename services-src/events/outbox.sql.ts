import type { Sql } from '#database';
import type { EventType, OutboxState, StreamName } from '../contracts/events.ts';

export interface OutboxRow {
  readonly id: string;
  readonly type: EventType;
  readonly body: string;
}

/** Waiting rows are counted up to this number. */
const countedRowsMax = 10_000;

/**
 * Lists the oldest rows whose record is not in the stream AUDIT yet, except the rows that another
 * replica is publishing.
 */
export async function listUnrecordedRows(
  sql: Sql,
  { limit }: { limit: number },
): Promise<OutboxRow[]> {
  return sql<OutboxRow[]>`
    select id, type, body
      from outbox
     where recorded_at is null
       and published_at is null
     order by id
     limit ${limit}
       for update skip locked
  `;
}

/**
 * Whether the record of any row is not in AUDIT yet, including rows that another replica is
 * publishing.
 */
export async function hasUnrecordedRows(sql: Sql): Promise<boolean> {
  const rows = await sql`
    select
      from outbox
     where recorded_at is null
       and published_at is null
     limit 1
  `;
  return rows.length > 0;
}

/**
 * Lists the oldest rows whose record is in the stream AUDIT, but whose event is not in EVENTS yet.
 */
export async function listUnannouncedRows(
  sql: Sql,
  { limit }: { limit: number },
): Promise<OutboxRow[]> {
  return sql<OutboxRow[]>`
    select id, type, body
      from outbox
     where recorded_at is not null
       and published_at is null
     order by id
     limit ${limit}
       for update skip locked
  `;
}

/**
 * Lets this transaction end without waiting for the disk, so that calls wait less for theirs. If
 * the server crashes within the next moments, it has forgotten which rows were published, as if the
 * relay had died before the commit: they are published again, and readers know them by their ids.
 */
async function commitWithoutWaiting(tx: Sql): Promise<void> {
  await tx`set local synchronous_commit = off`;
}

/**
 * Marks the record of each row as published to AUDIT, and the rows of `completeIds` as published
 * entirely.
 */
export async function markRowsRecorded(
  tx: Sql,
  { ids, completeIds }: { ids: readonly string[]; completeIds: readonly string[] },
): Promise<void> {
  const update = tx`
    update outbox
       set recorded_at = now(),
           published_at = case when id = any(${completeIds}::uuid[]) then now() end
     where id = any(${ids}::uuid[])
  `;
  await Promise.all([commitWithoutWaiting(tx), update]);
}

export async function markRowsPublished(
  tx: Sql,
  { ids }: { ids: readonly string[] },
): Promise<void> {
  const update = tx`
    update outbox
       set published_at = now()
     where id = any(${ids}::uuid[])
  `;
  await Promise.all([commitWithoutWaiting(tx), update]);
}

export async function measureBacklog(sql: Sql): Promise<OutboxState> {
  const [row] = await sql<OutboxState[]>`
    select count(*)::integer as waiting,
           coalesce(extract(epoch from now() - min(created_at)), 0)::integer as oldest_seconds
      from ((select created_at
               from outbox
              where recorded_at is null
                and published_at is null
              order by id
              limit ${countedRowsMax})
            union all
            (select created_at
               from outbox
              where recorded_at is not null
                and published_at is null
              order by id
              limit ${countedRowsMax})) as unpublished
  `;
  const { waiting, oldest_seconds: oldest } = row ?? { waiting: 0, oldest_seconds: 0 };
  return { waiting: Math.min(waiting, countedRowsMax), oldest_seconds: Math.max(0, oldest) };
}

/** Deletes rows that were published more than seven days ago, and returns how many. */
export async function pruneOutbox(sql: Sql, { limit }: { limit: number }): Promise<number> {
  const { count } = await sql`
    delete from outbox
     where id = any(array(select id
                            from outbox
                           where published_at < now() - interval '7 days'
                           order by published_at
                           limit ${limit}
                             for update skip locked))
  `;
  return count;
}

/**
 * Stores which incarnation of a stream the outbox publishes to. When the stored incarnation was a
 * different one, every row that the outbox has published so far becomes due to be published to this
 * stream again. Returns `first` when none was stored, `other` when a different one was.
 */
export async function rememberStream(
  sql: Sql,
  { stream, incarnation }: { stream: StreamName; incarnation: string },
): Promise<'same' | 'first' | 'other'> {
  const [row] = await sql<{ isFirst: boolean }[]>`
    insert into relayed_stream (name, incarnation, repeat_after, repeat_until)
    values (${stream}, ${incarnation}, null,
            (select id
               from outbox
              where recorded_at is not null
                 or published_at is not null
              order by id desc
              limit 1))
        on conflict (name) do update
       set incarnation = excluded.incarnation,
           repeat_after = null,
           repeat_until = excluded.repeat_until
     where relayed_stream.incarnation <> excluded.incarnation
    returning xmax = 0 as "isFirst"
  `;
  if (row === undefined) return 'same';
  return row.isFirst ? 'first' : 'other';
}

/**
 * Locks the repetition for one stream: the rows after `after` up to `until` are to be published to
 * it again. Returns undefined when there are none, or when another replica publishes them.
 */
export async function lockRepetition(
  sql: Sql,
  { stream }: { stream: StreamName },
): Promise<{ after: string | null; until: string } | undefined> {
  const [row] = await sql<{ after: string | null; until: string }[]>`
    select repeat_after as after, repeat_until as until
      from relayed_stream
     where name = ${stream}
       and repeat_until is not null
       for update skip locked
  `;
  return row;
}

/**
 * Lists rows in the order of their ids. A row comes without its body when it was published more
 * than seven days ago, or when its type is in `without`.
 */
export async function listPublishedRows(
  sql: Sql,
  {
    after,
    until,
    without,
    limit,
  }: { after: string | null; until: string; without: readonly EventType[]; limit: number },
): Promise<{ id: string; type: EventType; body: string | null }[]> {
  return sql<{ id: string; type: EventType; body: string | null }[]>`
    select id, type,
           case when type <> all(${without}::text[])
                 and coalesce(published_at, recorded_at) > now() - interval '7 days'
                then body
            end as body
      from outbox
     where id > ${after ?? '00000000-0000-0000-0000-000000000000'}
       and id <= ${until}
     order by id
     limit ${limit}
  `;
}

/** Notes that the repetition has published the rows up to `after`; `null` ends the repetition. */
export async function advanceRepetition(
  sql: Sql,
  { stream, after }: { stream: StreamName; after: string | null },
): Promise<void> {
  await sql`
    update relayed_stream
       set repeat_after = ${after},
           repeat_until = case when ${after}::uuid is null then null else repeat_until end
     where name = ${stream}
  `;
}
