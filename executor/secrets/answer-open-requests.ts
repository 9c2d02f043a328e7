import type { Transaction } from '#database';
import type { Actor } from '../credentials/actor.ts';
import { listOpenSecretRequests } from '../person-requests/secret-link.sql.ts';
import { closerOf, settleInTransaction } from '../person-requests/settle-request.ts';
import { consumeSecretRequest } from './secret-request.sql.ts';

/**
 * Closes as ready what was asked for under the name of a secret that its owner stores directly. It
 * locks the requests before the secret, as entering the value on the page does.
 */
export async function answerOpenRequests(
  tx: Transaction,
  by: Actor,
  secret: { readonly orgId: string; readonly ownerId: string | null; readonly name: string },
): Promise<void> {
  const { userId: providedBy } = by.principal;
  for (const request of await listOpenSecretRequests(tx, secret)) {
    const closed = await settleInTransaction(tx, closerOf(by), { request, status: 'ready' });
    if (closed !== undefined) await consumeSecretRequest(tx, { ...closed, providedBy });
  }
}
