import type { Identity as PublicIdentity } from '#contracts/http/identities';
import type { CallContext } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { canRevoke, canSee } from '../domain/access.ts';
import { nameOf } from '../domain/audit-entry.ts';
import { identityRevoked } from '../domain/identity-events.ts';
import type { Identity } from '../domain/identity.ts';
import { presentIdentity } from '../domain/present-identity.ts';
import {
  countOtherActiveAdmins,
  findIdentity,
  getIdentity,
  lockTree,
} from '../repository/identities.ts';
import { lockOrg } from '../repository/orgs.ts';
import { revokeWithCredentials } from '../repository/revocation.ts';

interface RevokeFields {
  readonly principal: string;
  readonly id: string;
  readonly context: CallContext;
}

/** Revokes an identity, its subtree and their credentials at once and for good. Twice is no error. */
export async function revokeIdentity(
  { db, readPrincipal, credentials }: Deps,
  { principal, id, context }: RevokeFields,
): Promise<PublicIdentity> {
  const caller = readPrincipal(principal);
  const { orgId } = caller;

  const revoked = await db.transaction(async (tx) => {
    const identity = await findIdentity(tx, { orgId, id });
    if (identity === undefined || !canSee(caller, identity)) {
      throw new AppError('not_found', 'There is no such identity among those you may see.');
    }
    if (!canRevoke(caller, identity)) {
      throw new AppError('forbidden', 'Only an ancestor or an admin of the org may revoke it.');
    }
    if (identity.role === 'admin') await keepOneAdmin(tx, identity);
    await lockTree(tx, { orgId, ownerId: identity.ownerId });

    const revokedIds = await revokeWithCredentials(tx, { orgId, id });
    if (revokedIds.length > 0) {
      const why = `${nameOf(caller)} revoked the ${identity.kind} ${identity.path.join(' / ')}.`;
      await appendEvent(tx, identityRevoked({ caller, context }, { identity, revokedIds, why }));
    }
    return getIdentity(tx, { orgId, id });
  });
  credentials.clear();
  return presentIdentity(revoked);
}

/** An org without an admin could never get one again. */
export async function keepOneAdmin(sql: Sql, { orgId, id }: Identity): Promise<void> {
  await lockOrg(sql, { orgId });
  if ((await countOtherActiveAdmins(sql, { orgId, exceptId: id })) > 0) return;
  throw new AppError(
    'forbidden',
    'This is the last admin of the org; make another user admin first.',
  );
}
