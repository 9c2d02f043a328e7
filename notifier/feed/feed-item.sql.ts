import type { FeedItem } from '#contracts/events';
import type { Sql } from '#database';

/** Holds a lock until the transaction ends, so that positions become visible in ascending order. */
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

/**
 * Lists the items after a position, oldest first. With `identityId` null it lists the items of the
 * whole org.
 */
export async function listFeedItems(
  sql: Sql,
  page: {
    orgId: string;
    identityId: string | null;
    types: readonly string[] | null;
    afterPosition: number;
    limit: number;
  },
): Promise<FeedItem[]> {
  const rows = await sql<{ position: number; body: string }[]>`
    select position, body
      from notifier.feed_item
     where org_id = ${page.orgId}
       and position > ${page.afterPosition}
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

/**
 * Returns the newest position in the feed of all orgs. Positions are counted across orgs and reveal
 * nothing about the items.
 */
export async function getFeedPosition(sql: Sql): Promise<number> {
  const [row] = await sql<[{ position: number }]>`
    select coalesce(max(position), 0) as position
      from notifier.feed_item
  `;
  return row.position;
}

/** Deletes old items of every org, because retention does not depend on the org. */
export async function pruneFeed(
  sql: Sql,
  { days, limit }: { days: number; limit: number },
): Promise<number> {
  const { count } = await sql`
    delete from notifier.feed_item
     where position in (select position
                          from notifier.feed_item
                         where created_at < now() - make_interval(days => ${days})
                         limit ${limit})
  `;
  return count;
}
