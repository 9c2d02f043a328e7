import type { Webhook } from '#contracts/http/webhooks';
import type { Deps } from '../deps.ts';
import { getPermittedWebhook } from './get-permitted-webhook.ts';

export async function getWebhook(
  { db, readPrincipal }: Deps,
  { principal, id }: { principal: string; id: string },
): Promise<Webhook> {
  return getPermittedWebhook(db, { caller: readPrincipal(principal), id, purpose: 'read' });
}
