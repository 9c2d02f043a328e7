import type { Identity as PublicIdentity } from '#contracts/http/identities';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { canRestore } from './domain/access.ts';
import { identityChangedEvent } from './domain/identity-events.ts';
import { presentIdentity } from './domain/present-identity.ts';
import { getIdentity } from './identities.sql.ts';
import { isNameTaken, restoreIdentity as restoreRow } from './identity-changes.sql.ts';
import { lockManagedIdentity, nameTakenError, alreadyRevokedError } from './manage-identity.ts';
import type { ManageIdentityFields } from './manage-identity.ts';

/**
 * Makes an archived identity active again. The caller's rank must be at least that of the caller
 * who archived it.
 */
export async function restoreIdentity(
  { db, readPrincipal, credentials }: Deps,
  { principal, id, context }: ManageIdentityFields,
): Promise<PublicIdentity> {
  const caller = readPrincipal(principal);
  const { orgId } = caller;

  const restoredIdentity = await db.transaction(async (tx) => {
    const identityBefore = await lockManagedIdentity(tx, { caller, id, verb: 'restore' });
    if (identityBefore.status === 'revoked') throw alreadyRevokedError();
    if (identityBefore.status === 'active') return identityBefore;
    if (!canRestore(caller, identityBefore)) {
      throw new AppError(
        'forbidden',
        'Somebody above you archived it; only they, or somebody above them, may restore it.',
      );
    }
    const { parentId, name } = identityBefore;
    if (await isNameTaken(tx, { orgId, id, parentId, name })) throw nameTakenError(name);
    await restoreRow(tx, { orgId, id });
    const identityAfter = await getIdentity(tx, { orgId, id });
    const change = { caller, context };
    await appendEvent(
      tx,
      identityChangedEvent(change, {
        before: identityBefore,
        after: identityAfter,
        verb: 'restored',
      }),
    );
    return identityAfter;
  });
  credentials.drop();
  return presentIdentity(restoredIdentity);
}
