import { v7 as uuidv7 } from 'uuid';

import { eventTypes } from '#contracts/events';
import type { Event, FeedItem } from '#contracts/events';
import type { Transaction } from '#database';
import { rememberEvent } from '#events';
import type { Deps } from '../deps.ts';
import { subscribes } from '../domain/subscription.ts';
import { insertDelivery } from '../repository/delivery.ts';
import { insertFeedItem, lockFeed } from '../repository/feed-item.ts';
import { listLiveWebhooks } from '../repository/webhook.ts';
import type { StoredWebhook } from '../repository/webhook.ts';

/** Puts public events into the feed and into the queue of every subscription that wants them. */
export async function recordEvents(deps: Deps, events: readonly Event[]): Promise<void> {
  const shown = events.filter((event) => eventTypes[event.type] === 'public');
  if (shown.length === 0) return;

  const items = await deps.db.transaction(async (tx) => {
    await lockFeed(tx);
    const recorded: FeedItem[] = [];
    const webhooksOf = new Map<string, StoredWebhook[]>();
    for (const event of shown) {
      if (!(await rememberEvent(tx, event))) continue;
      const { audit: _, ...visible } = event;
      recorded.push(await insertFeedItem(tx, visible));

      const webhooks =
        webhooksOf.get(event.org_id) ?? (await listLiveWebhooks(tx, { orgId: event.org_id }));
      webhooksOf.set(event.org_id, webhooks);
      for (const webhook of webhooks) await queue(tx, webhook, event);
    }
    return recorded;
  });
  deps.announce(items);
  deps.wakeDeliveries();
}

async function queue(
  tx: Transaction,
  { webhook, subtreeOf }: StoredWebhook,
  event: Event,
): Promise<void> {
  if (!subscribes(webhook.events, event.type)) return;
  if (subtreeOf !== null && !event.audience.includes(subtreeOf)) return;
  const id = uuidv7();
  await insertDelivery(tx, {
    id,
    orgId: event.org_id,
    webhookId: webhook.id,
    eventId: event.id,
    type: event.type,
    // The id is the delivery's; every retry sends these bytes (docs/reference/events.md#webhooks).
    body: JSON.stringify({
      id,
      type: event.type,
      created_at: event.created_at,
      org_id: event.org_id,
      data: event.data,
    }),
    status: webhook.status === 'active' ? 'pending' : 'held',
  });
}
