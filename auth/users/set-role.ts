import type { Principal, Role } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { identityChanged } from '../domain/identity-events.ts';
import type { Change } from '../domain/identity-events.ts';
import type { Identity } from '../domain/identity.ts';
import { findIdentity, getIdentity } from '../repository/identities.ts';
import { lockOrg } from '../repository/orgs.ts';
import { changeRole } from '../repository/users.ts';
import { keepOneAdmin } from '../usecases/manage-identity.ts';

/** A user of the caller's org who was not revoked. */
export async function getLiveUser(
  tx: Transaction,
  { orgId }: Principal,
  id: string,
): Promise<Identity> {
  const user = await findIdentity(tx, { orgId, id });
  if (user?.kind === 'user' && user.status !== 'revoked') return user;
  throw new AppError('not_found', 'There is no such user in your org.');
}

/** Announces the new role; an org keeps its last admin. */
export async function setRole(
  tx: Transaction,
  change: Change,
  { user: { orgId, id }, role }: { user: Identity; role: Role },
): Promise<Identity> {
  // Roles change one after another, so that the one before is known for sure.
  await lockOrg(tx, { orgId });
  const before = await getIdentity(tx, { orgId, id });
  if (role !== 'admin') await keepOneAdmin(tx, before);
  if (!(await changeRole(tx, { orgId, id, role }))) return before;
  const after = await getIdentity(tx, { orgId, id });
  await appendEvent(tx, identityChanged(change, { before, after, verb: 'changed' }));
  return after;
}
