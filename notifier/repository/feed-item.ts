import type { FeedItem } from '#contracts/events';
import type { Sql } from '#database';

/** Held until the transaction ends: positions become visible in their order. */
export async function lockFeed(sql: Sql): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('notifier feed'))`;
}

export async function insertFeedItem(sql: Sql, event: FeedItem['event']): Promise<FeedItem> {
  const [row] = await sql<[{ position: number }]>`
    insert into notifier.feed_item (org_id, type, audience, body)
    values (${event.org_id}, ${event.type}, ${event.audience}, ${JSON.stringify(event)})
    returning position
  `;
  return { position: row.position, event };
}

/** Items after a position, oldest first. `identityId` null: everything of the org. */
export async function listFeedItems(
  sql: Sql,
  page: {
    orgId: string;
    identityId: string | null;
    types: readonly string[] | null;
    after: number;
    limit: number;
  },
): Promise<FeedItem[]> {
  const rows = await sql<{ position: number; body: string }[]>`
    select position, body
      from notifier.feed_item
     where org_id = ${page.orgId}
       and position > ${page.after}
       and (${page.identityId}::uuid is null or ${page.identityId} = any (audience))
       and (${page.types as string[] | null}::text[] is null or type = any (${page.types as string[] | null}))
     order by position
     limit ${page.limit}
  `;
  return rows.map(({ position, body }) => ({
    position,
    event: JSON.parse(body) as FeedItem['event'],
  }));
}

/** The newest position of any org: positions are global, and say nothing about what they hold. */
export async function getFeedPosition(sql: Sql): Promise<number> {
  const [row] = await sql<[{ position: number }]>`
    select coalesce(max(position), 0) as position
      from notifier.feed_item
  `;
  return row.position;
}

/** Of all orgs: retention, not access. */
export async function pruneFeed(sql: Sql, { days }: { days: number }): Promise<void> {
  await sql`
    delete from notifier.feed_item
     where position in (select position
                          from notifier.feed_item
                         where created_at < now() - make_interval(days => ${days})
                         limit 10000)
  `;
}

/** The inbox only has to remember as long as the stream redelivers. */
export async function pruneInbox(sql: Sql, { days }: { days: number }): Promise<void> {
  await sql`
    delete from notifier.inbox
     where event_id in (select event_id
                          from notifier.inbox
                         where received_at < now() - make_interval(days => ${days})
                         limit 10000)
  `;
}
