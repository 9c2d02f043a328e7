import type { Delivery } from '#contracts/http/webhooks';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { restartDelivery } from './delivery.sql.ts';
import { createWebhookEvent } from './domain/webhook-events.ts';
import { getPermittedWebhook } from './get-permitted-webhook.ts';

/** Sends a delivery again. */
export async function resendDelivery(
  deps: Deps,
  { principal, id, deliveryId }: { principal: string; id: string; deliveryId: string },
): Promise<Delivery> {
  const caller = deps.readPrincipal(principal);
  const delivery = await deps.db.transaction(async (tx) => {
    const { url } = await getPermittedWebhook(tx, { caller, id, purpose: 'write' });
    const restartedDelivery = await restartDelivery(tx, {
      orgId: caller.orgId,
      webhookId: id,
      id: deliveryId,
    });
    if (!restartedDelivery) throw new AppError('not_found', 'There is no such delivery.');
    const text = `Sending a delivery to ${url} again`;
    await appendEvent(tx, createWebhookEvent('webhook.changed', { caller, id, text }));
    return restartedDelivery;
  });
  deps.wakeDeliveries();
  return delivery;
}
