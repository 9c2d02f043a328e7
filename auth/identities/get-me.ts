import type { Me } from '#contracts/http/identities';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { presentIdentity } from './domain/present-identity.ts';
import { findIdentity } from './identities.sql.ts';
import { findOrg } from '../orgs/orgs.sql.ts';

/** Reads the caller's own identity with the scopes of its credential. */
export async function getMe(
  { db, readPrincipal }: Deps,
  { principal }: { principal: string },
): Promise<Me> {
  const caller = readPrincipal(principal);
  const [identity, org] = await Promise.all([
    findIdentity(db, { orgId: caller.orgId, id: caller.identityId }),
    findOrg(db, { orgId: caller.orgId }),
  ]);
  if (identity === undefined || org === undefined) {
    throw new AppError('unauthenticated', 'This identity is no longer here.');
  }
  return {
    ...presentIdentity(identity),
    org: { id: org.id, name: org.name },
    scopes: caller.scopes,
    credential: { kind: caller.credential.kind, id: caller.credential.id },
  };
}
