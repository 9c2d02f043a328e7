import type { Identity as PublicIdentity } from '#contracts/http/identities';
import type { CallContext, Role } from '#contracts/vocabulary';
import { readAdmin } from '../callers.ts';
import type { Deps } from '../deps.ts';
import { presentIdentity } from '../domain/present-identity.ts';
import { getLiveUser, setRole } from '../users/set-role.ts';

interface ChangeFields {
  readonly principal: string;
  readonly id: string;
  readonly body: { readonly role: Role };
  readonly context: CallContext;
}

/** Changes a user's role, which holds for whatever they ask next. */
export async function changeUser(
  { db, readPrincipal, credentials }: Deps,
  { principal, id, body, context }: ChangeFields,
): Promise<PublicIdentity> {
  const caller = readAdmin({ readPrincipal }, principal);
  const changed = await db.transaction(async (tx) => {
    const user = await getLiveUser(tx, caller, id);
    return setRole(tx, { caller, context }, { user, role: body.role });
  });
  credentials.drop();
  return presentIdentity(changed);
}
