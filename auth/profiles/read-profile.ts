import type { Profile } from '#contracts/http/profile';
import type { Principal } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { findIdentity } from '../identities/identities.sql.ts';
import { findOrg } from '../orgs/orgs.sql.ts';
import { findVisitor } from './visitors.sql.ts';

/** Reads the caller of a request that only a person may make, in the person's own session. */
export function readPerson({ readPrincipal }: Pick<Deps, 'readPrincipal'>, signed: string) {
  const caller: Principal = readPrincipal(signed);
  if (caller.kind === 'user' && caller.credential.kind === 'session') return caller;
  throw new AppError(
    'forbidden',
    'The profile is for people who are signed in; GET /v1/identities/me answers every credential.',
  );
}

/** Reads the profile of a caller who is a person. */
export async function readProfile(
  sql: Sql,
  { orgId, identityId }: Pick<Principal, 'orgId' | 'identityId'>,
): Promise<Profile> {
  // The queries run one after the other, because the transaction of a change has only one
  // connection.
  const user = await findIdentity(sql, { orgId, id: identityId });
  const org = await findOrg(sql, { orgId });
  if (user === undefined || user.role === null || org === undefined) {
    throw new AppError('unauthenticated', 'This identity is no longer here.');
  }
  const visitor = await findVisitor(sql, { orgId, identityId });
  return {
    id: user.id,
    handle: user.name,
    display_name: user.displayName,
    email: user.email,
    role: user.role,
    org: { id: org.id, name: org.name },
    previous_visit_at: visitor?.previousVisitAt?.toISOString() ?? null,
    checklist: visitor?.checklistDismissed === true ? 'dismissed' : 'open',
  };
}
