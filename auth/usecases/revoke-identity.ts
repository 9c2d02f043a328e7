import type { Identity as PublicIdentity } from '#contracts/http/identities';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { nameOf } from '../domain/audit-entry.ts';
import { identityRevoked } from '../domain/identity-events.ts';
import { presentIdentity } from '../domain/present-identity.ts';
import { getIdentity } from '../repository/identities.ts';
import { revokeWithCredentials } from '../repository/revocation.ts';
import { keepOneAdmin, lockManaged } from './manage-identity.ts';
import type { ManageFields } from './manage-identity.ts';

/** Revokes an identity, its subtree and their credentials at once and for good. Twice is no error. */
export async function revokeIdentity(
  { db, readPrincipal, credentials }: Deps,
  { principal, id, context }: ManageFields,
): Promise<PublicIdentity> {
  const caller = readPrincipal(principal);
  const { orgId } = caller;

  const revoked = await db.transaction(async (tx) => {
    const identity = await lockManaged(tx, { caller, id, verb: 'revoke' });
    await keepOneAdmin(tx, identity);
    const revokedIds = await revokeWithCredentials(tx, { orgId, id });
    if (revokedIds.length > 0) {
      const why = `${nameOf(caller)} revoked the ${identity.kind} ${identity.path.join(' / ')}.`;
      await appendEvent(tx, identityRevoked({ caller, context }, { identity, revokedIds, why }));
    }
    return getIdentity(tx, { orgId, id });
  });
  credentials.drop();
  return presentIdentity(revoked);
}
