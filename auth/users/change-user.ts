import type { Identity as PublicIdentity } from '#contracts/http/identities';
import type { ChangeUserBody } from '#contracts/http/users';
import type { CallContext } from '#contracts/vocabulary';
import { readAdmin } from '../callers/read-admin.ts';
import type { Deps } from '../deps.ts';
import { presentIdentity } from '../identities/domain/present-identity.ts';
import { changeDisplayName } from './change-display-name.ts';
import { getUnrevokedUser, setRole } from './set-role.ts';

interface ChangeUserFields {
  readonly principal: string;
  readonly id: string;
  readonly body: ChangeUserBody;
  readonly context: CallContext;
}

/**
 * Changes a user's role or display name. A new role applies from the user's next request on.
 */
export async function changeUser(
  { db, readPrincipal, credentials }: Deps,
  { principal, id, body, context }: ChangeUserFields,
): Promise<PublicIdentity> {
  const caller = readAdmin({ readPrincipal }, principal);
  const changedUser = await db.transaction(async (tx) => {
    const user = await getUnrevokedUser(tx, caller, id);
    const { role, display_name: displayName } = body;
    const change = { caller, context };
    const withRole = role === undefined ? user : await setRole(tx, change, { user, role });
    if (displayName === undefined) return withRole;
    return changeDisplayName(tx, change, { user, displayName });
  });
  credentials.drop();
  return presentIdentity(changedUser);
}
