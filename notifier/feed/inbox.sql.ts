import type { Sql } from '#database';

/** Deletes entries that are older than any event that the stream still redelivers. */
export async function pruneInbox(
  sql: Sql,
  { days, limit }: { days: number; limit: number },
): Promise<number> {
  const { count } = await sql`
    delete from notifier.inbox
     where event_id in (select event_id
                          from notifier.inbox
                         where received_at < now() - make_interval(days => ${days})
                         limit ${limit})
  `;
  return count;
}
