import type { Principal, Role } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { identityChangedEvent } from '../identities/domain/identity-events.ts';
import type { ChangeOrigin } from '../callers/domain/change-event.ts';
import type { Identity } from '../identities/domain/identity.ts';
import { findIdentity, getIdentity } from '../identities/identities.sql.ts';
import { lockOrg } from '../orgs/orgs.sql.ts';
import { changeRole } from './users.sql.ts';
import { checkNotLastAdmin } from '../identities/manage-identity.ts';

/**
 * Reads a user of the caller's org. Throws `not_found` when there is no such user or the user is
 * revoked.
 */
export async function getUnrevokedUser(
  tx: Transaction,
  { orgId }: Principal,
  id: string,
): Promise<Identity> {
  const user = await findIdentity(tx, { orgId, id });
  if (user?.kind === 'user' && user.status !== 'revoked') return user;
  throw new AppError('not_found', 'There is no such user in your org.');
}

/** Sets a user's role and announces the change. The last admin of an org must remain an admin. */
export async function setRole(
  tx: Transaction,
  change: ChangeOrigin,
  { user: { orgId, id }, role }: { user: Identity; role: Role },
): Promise<Identity> {
  // This lock makes role changes happen one after another, so that `before` is the role that this
  // change replaces.
  await lockOrg(tx, { orgId });
  const identityBefore = await getIdentity(tx, { orgId, id });
  if (role !== 'admin') await checkNotLastAdmin(tx, identityBefore);
  if (!(await changeRole(tx, { orgId, id, role }))) return identityBefore;
  const after = await getIdentity(tx, { orgId, id });
  await appendEvent(
    tx,
    identityChangedEvent(change, { before: identityBefore, after, verb: 'changed' }),
  );
  return after;
}
