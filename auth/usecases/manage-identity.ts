import type { CallContext, Principal } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import { canManage, canSee } from '../domain/access.ts';
import type { Identity } from '../domain/identity.ts';
import {
  countOtherActiveAdmins,
  getIdentity,
  findIdentity,
  lockTree,
} from '../repository/identities.ts';
import { lockOrg } from '../repository/orgs.ts';

/** What archive, restore and revoke are asked with. */
export interface ManageFields {
  readonly principal: string;
  readonly id: string;
  readonly context: CallContext;
}

/**
 * The identity as it stands, its tree locked until the transaction ends; `not_found` outside what
 * the caller may see, `forbidden` where it is neither an ancestor nor an admin.
 */
export async function lockManaged(
  sql: Sql,
  { caller, id, verb }: { caller: Principal; id: string; verb: string },
): Promise<Identity> {
  const { orgId } = caller;
  const found = await findIdentity(sql, { orgId, id });
  if (found === undefined || !canSee(caller, found)) {
    throw new AppError('not_found', 'There is no such identity among those you may see.');
  }
  if (!canManage(caller, found)) {
    throw new AppError('forbidden', `Only an ancestor or an admin of the org may ${verb} it.`);
  }
  // Before the tree, in every transaction that takes both.
  if (found.kind === 'user') await lockOrg(sql, { orgId });
  await lockTree(sql, { orgId, ownerId: found.ownerId });
  return getIdentity(sql, { orgId, id });
}

/** An org without an admin could never get one again. */
export async function keepOneAdmin(sql: Sql, { orgId, id, role }: Identity): Promise<void> {
  if (role !== 'admin') return;
  await lockOrg(sql, { orgId });
  if ((await countOtherActiveAdmins(sql, { orgId, exceptId: id })) > 0) return;
  throw new AppError(
    'forbidden',
    'This is the last admin of the org; make another user admin first.',
  );
}

export function revokedForGood(): AppError {
  return new AppError(
    'conflict',
    'The identity is revoked, and that is final; create a new one instead.',
  );
}

export function nameTaken(name: string): AppError {
  return new AppError(
    'conflict',
    `An active sibling is named ${name}; rename or archive that one first, or choose another name.`,
  );
}
