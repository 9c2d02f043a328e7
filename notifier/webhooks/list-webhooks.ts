import type { Webhook } from '#contracts/http/webhooks';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import type { Deps } from '../deps.ts';
import { limitingIdentityIdOf } from './domain/access.ts';
import * as webhooks from './webhook.sql.ts';

/** Lists the webhooks that the caller may read, newest first. */
export async function listWebhooks(
  { db, readPrincipal }: Deps,
  { principal, page }: { principal: string; page: PageRequest },
): Promise<Page<Webhook>> {
  const caller = readPrincipal(principal);
  const rows = await webhooks.listWebhooks(db, {
    orgId: caller.orgId,
    subtreeId: limitingIdentityIdOf(caller, 'read'),
    before: parseSingleCursor(page.cursor, positions.id),
    limit: page.limit + 1,
  });
  const shownWebhooks = rows.map(({ webhook }) => webhook);
  return pageOf(shownWebhooks, page.limit, ({ id }) => [id]);
}
