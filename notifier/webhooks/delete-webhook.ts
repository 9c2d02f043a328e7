import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { createWebhookEvent } from './domain/webhook-events.ts';
import { getPermittedWebhook } from './get-permitted-webhook.ts';
import * as webhooks from './webhook.sql.ts';

export async function deleteWebhook(
  { db, readPrincipal }: Deps,
  { principal, id }: { principal: string; id: string },
): Promise<Record<string, never>> {
  const caller = readPrincipal(principal);
  await db.transaction(async (tx) => {
    const { url } = await getPermittedWebhook(tx, { caller, id, purpose: 'write' });
    await webhooks.deleteWebhook(tx, { orgId: caller.orgId, id });
    await appendEvent(
      tx,
      createWebhookEvent('webhook.deleted', { caller, id, text: `Ended ${url}` }),
    );
  });
  return {};
}
