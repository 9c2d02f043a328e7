import type { Identity as PublicIdentity } from '#contracts/http/identities';
import type { CallContext } from '#contracts/vocabulary';
import { readAdmin } from '../callers/read-admin.ts';
import type { Deps } from '../deps.ts';
import { presentIdentity } from '../identities/domain/present-identity.ts';
import { lockOrg } from '../orgs/orgs.sql.ts';
import { insertUserWithAccount } from './insert-user.ts';
import type { NewUser } from './insert-user.ts';

interface CreateUserFields {
  readonly principal: string;
  readonly body: NewUser;
  readonly context: CallContext;
}

/** Creates a user with an e-mail address. An admin creates a sign-in link for the user later. */
export async function createUser(
  { db, readPrincipal }: Deps,
  { principal, body, context }: CreateUserFields,
): Promise<PublicIdentity> {
  const caller = readAdmin({ readPrincipal }, principal);
  return db.transaction(async (tx) => {
    await lockOrg(tx, caller);
    return presentIdentity(await insertUserWithAccount(tx, { caller, context }, body));
  });
}
