import type { Invitation } from '#contracts/http/users';
import type { CallContext } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { readAdmin } from '../callers/read-admin.ts';
import type { Deps } from '../deps.ts';
import { callerNameOf } from '../callers/domain/audit-entry.ts';
import type { Identity } from '../identities/domain/identity.ts';
import { presentIdentity } from '../identities/domain/present-identity.ts';
import { createChangeEvent } from '../callers/domain/change-event.ts';
import { getIdentity } from '../identities/identities.sql.ts';
import { findLocalAccountByEmail } from './local-accounts.sql.ts';
import { lockOrg } from '../orgs/orgs.sql.ts';
import { hasNeverSignedIn } from './users.sql.ts';
import { insertUserWithAccount } from './insert-user.ts';
import type { NewUser } from './insert-user.ts';
import { replaceSignInLink } from '../sign-in-links/replace-sign-in-link.ts';
import { setRole } from './set-role.ts';

interface InviteUserFields {
  readonly principal: string;
  readonly body: NewUser;
  readonly context: CallContext;
}

const invitationHours = 72;

/**
 * Creates a user with a one-time link. A user who was invited before and never signed in gets a new
 * link.
 */
export async function inviteUser(
  deps: Deps,
  { principal, body, context }: InviteUserFields,
): Promise<Invitation> {
  const caller = readAdmin(deps, principal);
  const { orgId } = caller;
  const change = { caller, context };
  return deps.db.transaction(async (tx) => {
    // Without the lock, two parallel invitations of one address would create two users.
    await lockOrg(tx, { orgId });
    const invitedUser = await findInvitedUser(tx, { orgId, email: body.email });
    const user =
      invitedUser === undefined
        ? await insertUserWithAccount(tx, change, body)
        : await setRole(tx, change, { user: invitedUser, role: body.role });
    const link = await replaceSignInLink(tx, deps, { user, hours: invitationHours });
    await appendEvent(
      tx,
      createChangeEvent('user.invited', change, {
        audience: [user.id],
        data: { identity_id: user.id, role: body.role, expires_at: link.expires_at },
        description: `${callerNameOf(caller)} invited ${user.name} (${body.email}) as ${body.role}.`,
      }),
    );
    return { user: presentIdentity(user), ...link };
  });
}

async function findInvitedUser(
  tx: Transaction,
  { orgId, email }: { orgId: string; email: string },
): Promise<Identity | undefined> {
  const account = await findLocalAccountByEmail(tx, { orgId, email });
  if (account === undefined) return undefined;
  const user = await getIdentity(tx, { orgId, id: account.identityId });
  if (user.status === 'revoked') return undefined;
  if (user.status === 'active' && (await hasNeverSignedIn(tx, { orgId, id: user.id }))) return user;
  throw new AppError(
    'conflict',
    'This e-mail address is a user already; make a sign-in link for them instead.',
    { details: { user_id: user.id } },
  );
}
