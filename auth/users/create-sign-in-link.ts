import type { SignInLink } from '#contracts/http/users';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { readAdmin } from '../callers/read-admin.ts';
import type { Deps } from '../deps.ts';
import { callerNameOf } from '../callers/domain/audit-entry.ts';
import { createChangeEvent } from '../callers/domain/change-event.ts';
import { replaceSignInLink } from '../sign-in-links/replace-sign-in-link.ts';
import { getUnrevokedUser } from './set-role.ts';

const linkHours = 24;

/**
 * Creates a one-time link with which a user signs in and sets a new password. The user's older
 * links end.
 */
export async function createSignInLink(
  deps: Deps,
  { principal, id, context }: { principal: string; id: string; context: CallContext },
): Promise<SignInLink> {
  const caller = readAdmin(deps, principal);
  return deps.db.transaction(async (tx) => {
    const user = await getUnrevokedUser(tx, caller, id);
    if (user.status !== 'active') {
      throw new AppError('conflict', 'This user is archived; restore them first.');
    }
    const link = await replaceSignInLink(tx, deps, { user, hours: linkHours });
    const description = `${callerNameOf(caller)} made a sign-in link for ${user.name}.`;
    const data = { identity_id: user.id, expires_at: link.expires_at };
    const change = { audience: [user.id], data, description };
    await appendEvent(tx, createChangeEvent('sign_in_link.created', { caller, context }, change));
    return link;
  });
}
