import type { Principal, Role } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { nameOf } from '../domain/audit-entry.ts';
import type { Change } from '../domain/identity-events.ts';
import type { Identity } from '../domain/identity.ts';
import { accountChanged } from '../domain/sign-in-events.ts';
import { findIdentity, getIdentity } from '../repository/identities.ts';
import { changeRole } from '../repository/users.ts';
import { keepOneAdmin } from '../usecases/revoke-identity.ts';

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
  { user, role }: { user: Identity; role: Role },
): Promise<Identity> {
  const { orgId, id } = user;
  if (user.role === 'admin' && role !== 'admin') await keepOneAdmin(tx, user);
  if (!(await changeRole(tx, { orgId, id, role }))) return getIdentity(tx, { orgId, id });
  await appendEvent(
    tx,
    accountChanged('identity.changed', change, {
      audience: [id],
      data: { identity_id: id, role },
      description: `${nameOf(change.caller)} made ${user.name} ${role}.`,
    }),
  );
  return getIdentity(tx, { orgId, id });
}
