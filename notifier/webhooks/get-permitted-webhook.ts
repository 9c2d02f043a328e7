import type { Webhook } from '#contracts/http/webhooks';
import type { Principal } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import { limitingIdentityIdOf } from './domain/access.ts';
import { findWebhook } from './webhook.sql.ts';

/**
 * Returns a webhook that the caller may read or change. For a webhook that the caller may not read,
 * throws the same error as for one that does not exist.
 */
export async function getPermittedWebhook(
  sql: Sql,
  { caller, id, purpose }: { caller: Principal; id: string; purpose: 'read' | 'write' },
): Promise<Webhook> {
  const owner = limitingIdentityIdOf(caller, purpose);
  const foundWebhook = await findWebhook(sql, { orgId: caller.orgId, id });
  if (!foundWebhook || (owner !== null && foundWebhook.subtreeId !== owner)) {
    throw new AppError('not_found', 'There is no such webhook.');
  }
  return foundWebhook.webhook;
}
