import { v7 as uuidv7 } from 'uuid';

import { eventTypes } from '#contracts/events';
import type { Event, FeedItem } from '#contracts/events';
import type { Transaction } from '#database';
import { appendEvent, rememberEvent } from '#events';
import type { Deps } from '../deps.ts';
import { matchesEventType } from '../webhooks/domain/subscription.ts';
import { insertDelivery } from '../webhooks/delivery.sql.ts';
import { insertFeedItem, lockFeed } from './feed-item.sql.ts';
import { listEnabledWebhooks } from '../webhooks/webhook.sql.ts';
import type { StoredWebhook } from '../webhooks/webhook.sql.ts';

/**
 * Adds public events to the feed, and queues a delivery for every subscription that matches them.
 * Announces each forged event that was refused to the audit log, which does not read the stream
 * EVENTS itself.
 */
export async function recordEvents(deps: Deps, events: readonly Event[]): Promise<void> {
  for (const event of events) if (event.type === 'event.refused') await reportRefusal(deps, event);
  const publicEvents = events.filter((event) => eventTypes[event.type] === 'public');
  if (publicEvents.length === 0) return;

  const items = await deps.db.transaction(async (tx) => {
    await lockFeed(tx);
    const recordedItems: FeedItem[] = [];
    const webhooksByOrgId = new Map<string, StoredWebhook[]>();
    for (const event of publicEvents) {
      if (!(await rememberEvent(tx, event))) continue;
      const { audit: _, traceparent: __, ...visible } = event;
      recordedItems.push(await insertFeedItem(tx, visible));

      const webhooks =
        webhooksByOrgId.get(event.org_id) ??
        (await listEnabledWebhooks(tx, { orgId: event.org_id }));
      webhooksByOrgId.set(event.org_id, webhooks);
      for (const webhook of webhooks) await queueDelivery(tx, webhook, event);
    }
    return recordedItems;
  });
  deps.announceItems(items);
  deps.wakeDeliveries();
}

async function reportRefusal({ db }: Deps, refusal: Event): Promise<void> {
  await db.transaction(async (tx) => {
    if (!(await rememberEvent(tx, refusal))) return;
    const { type, org_id: orgId, audience, data, audit } = refusal;
    await appendEvent(tx, { type, orgId, audience, data, audit });
  });
}

async function queueDelivery(
  tx: Transaction,
  { webhook, subtreeId: subtreeOf }: StoredWebhook,
  event: Event,
): Promise<void> {
  if (!matchesEventType(webhook.events, event.type)) return;
  if (subtreeOf !== null && !event.audience.includes(subtreeOf)) return;
  const id = uuidv7();
  await insertDelivery(tx, {
    id,
    orgId: event.org_id,
    webhookId: webhook.id,
    eventId: event.id,
    type: event.type,
    // `id` is the id of the delivery. Every retry sends the same bytes
    // (docs/reference/events.md#webhooks).
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
