import type { SignInLink } from '#contracts/http/users';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { readAdmin } from '../callers.ts';
import type { Deps } from '../deps.ts';
import { nameOf } from '../domain/audit-entry.ts';
import { accountChanged } from '../domain/sign-in-events.ts';
import { makeLink } from '../users/make-link.ts';
import { getLiveUser } from '../users/set-role.ts';

const linkHours = 24;

/** Makes a one-time link with which a user signs in and sets a new password; older ones end. */
export async function createSignInLink(
  deps: Deps,
  { principal, id, context }: { principal: string; id: string; context: CallContext },
): Promise<SignInLink> {
  const caller = readAdmin(deps, principal);
  return deps.db.transaction(async (tx) => {
    const user = await getLiveUser(tx, caller, id);
    if (user.status !== 'active') {
      throw new AppError('conflict', 'This user is archived; restore them first.');
    }
    const link = await makeLink(tx, deps, { user, hours: linkHours });
    const description = `${nameOf(caller)} made a sign-in link for ${user.name}.`;
    const data = { identity_id: user.id, expires_at: link.expires_at };
    const change = { audience: [user.id], data, description };
    await appendEvent(tx, accountChanged('sign_in_link.created', { caller, context }, change));
    return link;
  });
}
