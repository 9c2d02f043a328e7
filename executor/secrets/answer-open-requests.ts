import type { Transaction } from '#database';
import type { Actor } from '../credentials/actor.ts';
import { listOpenSecretRequests } from '../person-requests/secret-link.sql.ts';
import { closerOf, settleInTransaction } from '../person-requests/settle-request.ts';
import { consumeSecretRequest } from './secret-request.sql.ts';

/**
 * Closes, as ready, the open requests for a secret that its owner stores directly. Locks the
 * requests before the secret, as the page does on which a person enters the value.
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
