import type { Transaction } from '#database';
import { missingScopes } from '#providers';
import type { Actor } from '../credentials/actor.ts';
import { listOpenConnectionRequests } from '../person-requests/connection-requests.sql.ts';
import { closerOf, settleInTransaction } from '../person-requests/settle-request.ts';
import type { ProviderApp } from '../providers/provider-apps.ts';
import type { StoredConnection } from './connection.sql.ts';

/** Closes the requests for this account whose scopes were all granted, with the status `ready`. */
export async function finishCoveredRequests(
  tx: Transaction,
  {
    connection: { orgId, id: connectionId, grantedScopes },
    app: { provider },
    by,
  }: { connection: StoredConnection; app: ProviderApp; by: Actor },
): Promise<void> {
  for (const request of await listOpenConnectionRequests(tx, { orgId, connectionId })) {
    // Providers often leave the scopes for a refresh token out of their answer.
    const neededScopes = request.scopes.filter((scope) => !provider.scopes_always.includes(scope));
    const lackingScopes = missingScopes(provider, {
      granted: grantedScopes,
      alternatives: [neededScopes],
    });
    if (lackingScopes.length === 0)
      await settleInTransaction(tx, closerOf(by), { request, status: 'ready' });
  }
}

/**
 * Cancels the requests for an account that was revoked, because nothing can fulfil them any more.
 */
export async function cancelRequestsForConnection(
  tx: Transaction,
  { orgId, connectionId, by }: { orgId: string; connectionId: string; by: Actor },
): Promise<void> {
  for (const request of await listOpenConnectionRequests(tx, { orgId, connectionId })) {
    await settleInTransaction(tx, closerOf(by), { request, status: 'cancelled' });
  }
}
