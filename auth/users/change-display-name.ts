import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { ChangeOrigin } from '../callers/domain/change-event.ts';
import { identityChangedEvent, isChanged } from '../identities/domain/identity-events.ts';
import type { Identity } from '../identities/domain/identity.ts';
import { getIdentity, lockTree } from '../identities/identities.sql.ts';
import { setDisplayName } from './display-names.sql.ts';

/** Sets or removes the display name of a user and announces the change. */
export async function changeDisplayName(
  tx: Transaction,
  change: ChangeOrigin,
  { user: { orgId, id }, displayName }: { user: Identity; displayName: string | null },
): Promise<Identity> {
  // This lock makes changes happen one after another, so that `before` is the name that this change
  // replaces.
  await lockTree(tx, { orgId, ownerId: id });
  const before = await getIdentity(tx, { orgId, id });
  const normalizedName = displayName?.normalize('NFC') ?? null;
  if (!(await setDisplayName(tx, { orgId, id, displayName: normalizedName }))) {
    throw new AppError('not_found', 'There is no such user in your org.');
  }
  const after = await getIdentity(tx, { orgId, id });
  if (isChanged(before, after)) {
    await appendEvent(tx, identityChangedEvent(change, { before, after, verb: 'changed' }));
  }
  return after;
}
