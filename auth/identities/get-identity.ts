import type { Identity as PublicIdentity } from '#contracts/http/identities';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { canSee } from './domain/access.ts';
import { presentIdentity } from './domain/present-identity.ts';
import { findIdentity } from './identities.sql.ts';

/** Reads one identity. An identity that the caller may not see is reported as not found. */
export async function getIdentity(
  { db, readPrincipal }: Deps,
  { principal, id }: { principal: string; id: string },
): Promise<PublicIdentity> {
  const caller = readPrincipal(principal);
  const identity = await findIdentity(db, { orgId: caller.orgId, id });
  if (identity === undefined || !canSee(caller, identity)) {
    throw new AppError('not_found', 'There is no such identity among those you may see.');
  }
  return presentIdentity(identity);
}
