import type { Identity as PublicIdentity } from '#contracts/http/identities';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { callerNameOf } from '../callers/domain/audit-entry.ts';
import { identityRevokedEvent } from './domain/identity-events.ts';
import { presentIdentity } from './domain/present-identity.ts';
import { getIdentity } from './identities.sql.ts';
import { revokeWithCredentials } from './revocation.sql.ts';
import { checkNotLastAdmin, lockManagedIdentity } from './manage-identity.ts';
import type { ManageIdentityFields } from './manage-identity.ts';

/**
 * Revokes an identity, its descendants and all their credentials for good. Revoking an identity
 * twice is no error.
 */
export async function revokeIdentity(
  { db, readPrincipal, credentials }: Deps,
  { principal, id, context }: ManageIdentityFields,
): Promise<PublicIdentity> {
  const caller = readPrincipal(principal);
  const { orgId } = caller;

  const revokedIdentity = await db.transaction(async (tx) => {
    const identity = await lockManagedIdentity(tx, { caller, id, verb: 'revoke' });
    await checkNotLastAdmin(tx, identity);
    const revokedIds = await revokeWithCredentials(tx, { orgId, id });
    if (revokedIds.length > 0) {
      const reason = `${callerNameOf(caller)} revoked the ${identity.kind} ${identity.path.join(' / ')}.`;
      await appendEvent(
        tx,
        identityRevokedEvent({ caller, context }, { identity, revokedIds, why: reason }),
      );
    }
    return getIdentity(tx, { orgId, id });
  });
  credentials.drop();
  return presentIdentity(revokedIdentity);
}
