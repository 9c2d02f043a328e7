import type { Identity as PublicIdentity } from '#contracts/http/identities';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { rankOver } from '../domain/access.ts';
import { identityChanged } from '../domain/identity-events.ts';
import { presentIdentity } from '../domain/present-identity.ts';
import { getIdentity } from '../repository/identities.ts';
import { archiveIdentity as archiveRow } from '../repository/identity-changes.ts';
import { keepOneAdmin, lockManaged, revokedForGood } from './manage-identity.ts';
import type { ManageFields } from './manage-identity.ts';

/**
 * Stops an identity and everything below it until it is restored: nothing of theirs is ended, and
 * nothing works. Archived again by somebody higher, it takes that one to restore it.
 */
export async function archiveIdentity(
  { db, readPrincipal, credentials }: Deps,
  { principal, id, context }: ManageFields,
): Promise<PublicIdentity> {
  const caller = readPrincipal(principal);
  const { orgId } = caller;

  const archived = await db.transaction(async (tx) => {
    const before = await lockManaged(tx, { caller, id, verb: 'archive' });
    if (before.status === 'revoked') throw revokedForGood();
    await keepOneAdmin(tx, before);
    const rank = rankOver(caller, before) ?? 0;
    const isDone = await archiveRow(tx, { orgId, id, rank });
    const after = await getIdentity(tx, { orgId, id });
    if (isDone) {
      const change = { caller, context };
      await appendEvent(tx, identityChanged(change, { before, after, verb: 'archived' }));
    }
    return after;
  });
  credentials.drop();
  return presentIdentity(archived);
}
