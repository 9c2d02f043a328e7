import type { Identity as PublicIdentity } from '#contracts/http/identities';
import type { CallContext } from '#contracts/vocabulary';
import { readAdmin } from '../callers.ts';
import type { Deps } from '../deps.ts';
import { presentIdentity } from '../domain/present-identity.ts';
import { lockOrg } from '../repository/orgs.ts';
import { insertLocalUser } from '../users/insert-user.ts';
import type { NewUser } from '../users/insert-user.ts';

interface CreateFields {
  readonly principal: string;
  readonly body: NewUser;
  readonly context: CallContext;
}

/** Creates a user with an e-mail address; a sign-in link is made for them later. */
export async function createUser(
  { db, readPrincipal }: Deps,
  { principal, body, context }: CreateFields,
): Promise<PublicIdentity> {
  const caller = readAdmin({ readPrincipal }, principal);
  return db.transaction(async (tx) => {
    await lockOrg(tx, caller);
    return presentIdentity(await insertLocalUser(tx, { caller, context }, body));
  });
}
