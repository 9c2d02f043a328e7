import type { Webhook } from '#contracts/http/webhooks';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { createWebhookEvent } from './domain/webhook-events.ts';
import { getPermittedWebhook } from './get-permitted-webhook.ts';
import { queueVerification } from './queue-verification.ts';
import { reopenWebhook } from './webhook.sql.ts';

/** Sends the verification again. A disabled subscription becomes pending again. */
export async function verifyWebhook(
  deps: Deps,
  { principal, id }: { principal: string; id: string },
): Promise<Webhook> {
  const caller = deps.readPrincipal(principal);
  const { orgId } = caller;
  const webhook = await deps.db.transaction(async (tx) => {
    const webhookBefore = await getPermittedWebhook(tx, { caller, id, purpose: 'write' });
    if (webhookBefore.status === 'active') return webhookBefore;
    await reopenWebhook(tx, { orgId, id });
    await queueVerification(tx, { orgId, id });
    const text = `Verifying ${webhookBefore.url}`;
    await appendEvent(tx, createWebhookEvent('webhook.changed', { caller, id, text }));
    return getPermittedWebhook(tx, { caller, id, purpose: 'write' });
  });
  deps.wakeDeliveries();
  return webhook;
}
