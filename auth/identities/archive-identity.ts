import type { Identity as PublicIdentity } from '#contracts/http/identities';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { rankOver } from './domain/access.ts';
import { identityChangedEvent } from './domain/identity-events.ts';
import { presentIdentity } from './domain/present-identity.ts';
import { getIdentity } from './identities.sql.ts';
import { archiveIdentity as archiveRow } from './identity-changes.sql.ts';
import { checkNotLastAdmin, lockManagedIdentity, alreadyRevokedError } from './manage-identity.ts';
import type { ManageIdentityFields } from './manage-identity.ts';

/**
 * Suspends an identity and all its descendants until the identity is restored. Their keys and
 * sessions are kept, but are refused while the identity is archived. If a caller with a higher rank
 * archives the identity again, only a caller with at least that rank may restore it.
 */
export async function archiveIdentity(
  { db, readPrincipal, credentials }: Deps,
  { principal, id, context }: ManageIdentityFields,
): Promise<PublicIdentity> {
  const caller = readPrincipal(principal);
  const { orgId } = caller;

  const archivedIdentity = await db.transaction(async (tx) => {
    const identityBefore = await lockManagedIdentity(tx, { caller, id, verb: 'archive' });
    if (identityBefore.status === 'revoked') throw alreadyRevokedError();
    await checkNotLastAdmin(tx, identityBefore);
    const rank = rankOver(caller, identityBefore) ?? 0;
    const isArchived = await archiveRow(tx, { orgId, id, rank });
    const identityAfter = await getIdentity(tx, { orgId, id });
    if (isArchived) {
      const change = { caller, context };
      await appendEvent(
        tx,
        identityChangedEvent(change, {
          before: identityBefore,
          after: identityAfter,
          verb: 'archived',
        }),
      );
    }
    return identityAfter;
  });
  credentials.drop();
  return presentIdentity(archivedIdentity);
}
