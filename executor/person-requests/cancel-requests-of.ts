import type { Deps } from '../deps.ts';
import { removeAskers } from './asker.sql.ts';
import { listOpenRequestsBy } from './person-request.sql.ts';
import { withdrawRequest } from './withdraw-request.ts';

/**
 * Cancels the open requests of identities that were revoked. A request stays open if others have
 * asked for the same. The revoked identities are also removed from the askers of other requests.
 */
export async function cancelRequestsOf(
  { db }: Pick<Deps, 'db'>,
  { orgId, identityIds }: { orgId: string; identityIds: readonly string[] },
): Promise<void> {
  for (const request of await listOpenRequestsBy(db, { orgId, requesterIds: identityIds })) {
    const closer = { decidedBy: null, audit: {} };
    await withdrawRequest(db, closer, { request, leavingIds: identityIds });
  }
  await removeAskers(db, { orgId, identityIds });
}
