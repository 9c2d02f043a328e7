import type { webhookRoutes } from '#contracts/http/webhooks';
import type { Deps } from '../deps.ts';
import { answer, answerNoContent, pageRequestOf } from '../http/route-handler.ts';
import type { HandlersOf } from '../http/route-handler.ts';

export function webhookHandlers({ notifier }: Deps): HandlersOf<typeof webhookRoutes> {
  return {
    listWebhooks: ({ caller: { principal }, query, deadline }) =>
      answer(200, notifier.listWebhooks({ principal, page: pageRequestOf(query) }, deadline)),
    createWebhook: ({ caller: { principal }, body, deadline }) =>
      answer(201, notifier.createWebhook({ principal, body }, deadline)),
    getWebhook: ({ caller: { principal }, params: { id }, deadline }) =>
      answer(200, notifier.getWebhook({ principal, id }, deadline)),
    deleteWebhook: ({ caller: { principal }, params: { id }, deadline }) =>
      answerNoContent(notifier.deleteWebhook({ principal, id }, deadline)),
    verifyWebhook: ({ caller: { principal }, params: { id }, deadline }) =>
      answer(200, notifier.verifyWebhook({ principal, id }, deadline)),
    listDeliveries: ({ caller: { principal }, params: { id }, query, deadline }) =>
      answer(200, notifier.listDeliveries({ principal, id, page: pageRequestOf(query) }, deadline)),
    redeliver: ({ caller: { principal }, params, deadline }) =>
      answer(
        202,
        notifier.redeliver({ principal, id: params.id, deliveryId: params.delivery_id }, deadline),
      ),
  };
}
