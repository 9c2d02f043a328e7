import type { Handlers } from '#bus';
import type { notifier } from '#contracts/bus/notifier';
import type { Reader } from '#events';
import type { Deps } from './deps.ts';
import {
  createWebhook,
  getWebhook,
  listOwnWebhooks,
  listWebhookDeliveries,
  redeliver,
  removeWebhook,
  verifyWebhook,
} from './usecases/manage-webhooks.ts';
import { feedPosition, listFeed } from './usecases/read-feed.ts';

export function createHandlers(
  deps: Deps,
  reader: Pick<Reader, 'state'>,
): Handlers<typeof notifier> {
  return {
    listFeed: (request) => listFeed(deps, request),
    feedPosition: (request) => feedPosition(deps, request),
    listWebhooks: (request) => listOwnWebhooks(deps, request),
    createWebhook: (request) => createWebhook(deps, request),
    getWebhook: (request) => getWebhook(deps, request),
    deleteWebhook: async (request) => {
      await removeWebhook(deps, request);
      return {};
    },
    verifyWebhook: (request) => verifyWebhook(deps, request),
    listDeliveries: (request) => listWebhookDeliveries(deps, request),
    redeliver: (request) => redeliver(deps, request),
    ping: async () => ({ reading: reader.state() }),
  };
}
