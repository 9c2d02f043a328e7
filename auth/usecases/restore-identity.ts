import type { Identity as PublicIdentity } from '#contracts/http/identities';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { canRestore } from '../domain/access.ts';
import { identityChanged } from '../domain/identity-events.ts';
import { presentIdentity } from '../domain/present-identity.ts';
import { getIdentity } from '../repository/identities.ts';
import { isNameTaken, restoreIdentity as restoreRow } from '../repository/identity-changes.ts';
import { lockManaged, nameTaken, revokedForGood } from './manage-identity.ts';
import type { ManageFields } from './manage-identity.ts';

/** Undoes an archive, by whoever stands as high as the archiver. What is active stays as it is. */
export async function restoreIdentity(
  { db, readPrincipal, credentials }: Deps,
  { principal, id, context }: ManageFields,
): Promise<PublicIdentity> {
  const caller = readPrincipal(principal);
  const { orgId } = caller;

  const restored = await db.transaction(async (tx) => {
    const before = await lockManaged(tx, { caller, id, verb: 'restore' });
    if (before.status === 'revoked') throw revokedForGood();
    if (before.status === 'active') return before;
    if (!canRestore(caller, before)) {
      throw new AppError(
        'forbidden',
        'Somebody above you archived it; only they, or somebody above them, may restore it.',
      );
    }
    const { parentId, name } = before;
    if (await isNameTaken(tx, { orgId, id, parentId, name })) throw nameTaken(name);
    await restoreRow(tx, { orgId, id });
    const after = await getIdentity(tx, { orgId, id });
    const change = { caller, context };
    await appendEvent(tx, identityChanged(change, { before, after, verb: 'restored' }));
    return after;
  });
  credentials.drop();
  return presentIdentity(restored);
}
