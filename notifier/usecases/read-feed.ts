import type { EventType, FeedItem } from '#contracts/events';
import type { Deps } from '../deps.ts';
import { subtreeOf } from '../domain/access.ts';
import { getFeedPosition, listFeedItems } from '../repository/feed-item.ts';

/** A page of what the caller may see after a position; `position` is where the next page starts. */
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
  const newest = await getFeedPosition(db);
  const items = await listFeedItems(db, {
    orgId: principal.orgId,
    identityId: subtreeOf(principal, 'read'),
    types: request.types,
    after: request.after,
    limit: request.limit,
  });
  const last = items.at(-1)?.position;
  // Short of a full page, everything up to `newest` has been looked at.
  const position = items.length === request.limit ? last : Math.max(newest, last ?? 0);
  return { items, position: position ?? newest };
}

export async function feedPosition(
  { db, readPrincipal }: Deps,
  request: { principal: string },
): Promise<{ position: number }> {
  readPrincipal(request.principal);
  return { position: await getFeedPosition(db) };
}
