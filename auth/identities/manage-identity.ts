import type { CallContext, Principal } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import { canManage, canSee } from './domain/access.ts';
import type { Identity } from './domain/identity.ts';
import { countOtherActiveAdmins, getIdentity, findIdentity, lockTree } from './identities.sql.ts';
import { lockOrg } from '../orgs/orgs.sql.ts';

/** The request to archive, restore or revoke an identity. */
export interface ManageIdentityFields {
  readonly principal: string;
  readonly id: string;
  readonly context: CallContext;
}

/**
 * Locks the identity's tree until the transaction ends, and reads the identity. Throws `not_found`
 * when the caller may not see it, and `forbidden` unless the caller is an ancestor or an admin.
 */
export async function lockManagedIdentity(
  sql: Sql,
  { caller, id, verb }: { caller: Principal; id: string; verb: string },
): Promise<Identity> {
  const { orgId } = caller;
  const identity = await findIdentity(sql, { orgId, id });
  if (identity === undefined || !canSee(caller, identity)) {
    throw new AppError('not_found', 'There is no such identity among those you may see.');
  }
  if (!canManage(caller, identity)) {
    throw new AppError('forbidden', `Only an ancestor or an admin of the org may ${verb} it.`);
  }
  // Every transaction that locks both an org and a tree locks the org first. With different orders,
  // two transactions could wait for each other forever.
  if (identity.kind === 'user') await lockOrg(sql, { orgId });
  await lockTree(sql, { orgId, ownerId: identity.ownerId });
  return getIdentity(sql, { orgId, id });
}

/** Refuses to remove the last admin, because an org without admins could never get one again. */
export async function checkNotLastAdmin(sql: Sql, { orgId, id, role }: Identity): Promise<void> {
  if (role !== 'admin') return;
  await lockOrg(sql, { orgId });
  if ((await countOtherActiveAdmins(sql, { orgId, exceptId: id })) > 0) return;
  throw new AppError(
    'forbidden',
    'This is the last admin of the org; make another user admin first.',
  );
}

export function alreadyRevokedError(): AppError {
  return new AppError(
    'conflict',
    'The identity is revoked, and that is final; create a new one instead.',
  );
}

export function nameTakenError(name: string): AppError {
  return new AppError(
    'conflict',
    `An active sibling is named ${name}; rename or archive that one first, or choose another name.`,
  );
}
