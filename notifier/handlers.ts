import { bind } from '#bus';
import type { Handlers } from '#bus';
import type { notifier } from '#contracts/bus/notifier';
import type { Reader, Relay } from '#events';
import type { Deps } from './deps.ts';
import { readFeedPosition, listFeed } from './feed/read-feed.ts';
import { createWebhook } from './webhooks/create-webhook.ts';
import { deleteWebhook } from './webhooks/delete-webhook.ts';
import { getWebhook } from './webhooks/get-webhook.ts';
import { listDeliveries } from './webhooks/list-deliveries.ts';
import { listWebhooks } from './webhooks/list-webhooks.ts';
import { resendDelivery } from './webhooks/redeliver.ts';
import { verifyWebhook } from './webhooks/verify-webhook.ts';

export function createHandlers(
  deps: Deps,
  reader: Pick<Reader, 'state'>,
  relay: Pick<Relay, 'backlog'>,
): Handlers<typeof notifier> {
  return bind(deps, {
    listFeed,
    feedPosition: readFeedPosition,
    listWebhooks,
    createWebhook,
    getWebhook,
    deleteWebhook,
    verifyWebhook,
    listDeliveries,
    redeliver: resendDelivery,
    ping: async () => ({ reading: reader.state(), outbox: relay.backlog() }),
  });
}
