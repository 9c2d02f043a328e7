import type { EventType, FeedItem } from '#contracts/events';
import type { Deps } from '../deps.ts';
import { limitingIdentityIdOf } from '../webhooks/domain/access.ts';
import { getFeedPosition, listFeedItems } from './feed-item.sql.ts';

/**
 * Returns one page of the items that the caller may see after a position. The next page starts at
 * the returned `position`.
 */
export async function listFeed(
  { db, readPrincipal }: Deps,
  request: {
    principal: string;
    after: number;
    types: EventType[] | null;
    limit: number;
  },
): Promise<{ items: FeedItem[]; position: number }> {
  const principal = readPrincipal(request.principal);
  const newestPosition = await getFeedPosition(db);
  const items = await listFeedItems(db, {
    orgId: principal.orgId,
    identityId: limitingIdentityIdOf(principal, 'read'),
    types: request.types,
    afterPosition: request.after,
    limit: request.limit,
  });
  const lastPosition = items.at(-1)?.position;
  // If the page is not full, there are no more items up to `newest`.
  const position =
    items.length === request.limit ? lastPosition : Math.max(newestPosition, lastPosition ?? 0);
  return { items, position: position ?? newestPosition };
}

export async function readFeedPosition(
  { db, readPrincipal }: Deps,
  request: { principal: string },
): Promise<{ position: number }> {
  readPrincipal(request.principal);
  return { position: await getFeedPosition(db) };
}
