import type { Delivery } from '#contracts/http/webhooks';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import type { Deps } from '../deps.ts';
import * as deliveries from './delivery.sql.ts';
import { getPermittedWebhook } from './get-permitted-webhook.ts';

/** Lists the deliveries of a webhook, newest first. */
export async function listDeliveries(
  { db, readPrincipal }: Deps,
  { principal, id, page }: { principal: string; id: string; page: PageRequest },
): Promise<Page<Delivery>> {
  const caller = readPrincipal(principal);
  await getPermittedWebhook(db, { caller, id, purpose: 'read' });
  const rows = await deliveries.listDeliveries(db, {
    orgId: caller.orgId,
    webhookId: id,
    before: parseSingleCursor(page.cursor, positions.id),
    limit: page.limit + 1,
  });
  return pageOf(rows, page.limit, (delivery) => [delivery.id]);
}
