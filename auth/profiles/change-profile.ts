import type { ChangeProfileBody, Profile } from '#contracts/http/profile';
import type { CallContext } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import { getIdentity } from '../identities/identities.sql.ts';
import { changeDisplayName } from '../users/change-display-name.ts';
import { readPerson, readProfile } from './read-profile.ts';
import { setChecklistDismissed } from './visitors.sql.ts';

interface ChangeProfileFields {
  readonly principal: string;
  readonly body: ChangeProfileBody;
  readonly context: CallContext;
}

/** Changes the display name and the checklist of the signed-in person, who may have any role. */
export async function changeProfile(
  { db, readPrincipal }: Deps,
  { principal, body, context }: ChangeProfileFields,
): Promise<Profile> {
  const caller = readPerson({ readPrincipal }, principal);
  const { orgId, identityId } = caller;
  return db.transaction(async (tx) => {
    const { display_name: displayName, checklist } = body;
    if (displayName !== undefined) {
      const user = await getIdentity(tx, { orgId, id: identityId });
      await changeDisplayName(tx, { caller, context }, { user, displayName });
    }
    if (checklist !== undefined) {
      const dismissed = checklist === 'dismissed';
      await setChecklistDismissed(tx, { orgId, identityId, dismissed });
    }
    return readProfile(tx, caller);
  });
}
