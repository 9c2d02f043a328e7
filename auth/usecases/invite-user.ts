import type { Invitation } from '#contracts/http/users';
import type { CallContext } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { readAdmin } from '../callers.ts';
import type { Deps } from '../deps.ts';
import { nameOf } from '../domain/audit-entry.ts';
import type { Identity } from '../domain/identity.ts';
import { presentIdentity } from '../domain/present-identity.ts';
import { accountChanged } from '../domain/sign-in-events.ts';
import { getIdentity } from '../repository/identities.ts';
import { findLocalAccountByEmail } from '../repository/local-accounts.ts';
import { lockOrg } from '../repository/orgs.ts';
import { hasNeverSignedIn } from '../repository/users.ts';
import { insertLocalUser } from '../users/insert-user.ts';
import type { NewUser } from '../users/insert-user.ts';
import { makeLink } from '../users/make-link.ts';
import { setRole } from '../users/set-role.ts';

interface InviteFields {
  readonly principal: string;
  readonly body: NewUser;
  readonly context: CallContext;
}

const invitationHours = 72;

/** Creates a user with a one-time link; for somebody who was invited and never came, a new link. */
export async function inviteUser(
  deps: Deps,
  { principal, body, context }: InviteFields,
): Promise<Invitation> {
  const caller = readAdmin(deps, principal);
  const { orgId } = caller;
  const change = { caller, context };
  return deps.db.transaction(async (tx) => {
    // Two invitations of one address at once would be two users.
    await lockOrg(tx, { orgId });
    const invited = await findInvited(tx, { orgId, email: body.email });
    const user =
      invited === undefined
        ? await insertLocalUser(tx, change, body)
        : await setRole(tx, change, { user: invited, role: body.role });
    const link = await makeLink(tx, deps, { user, hours: invitationHours });
    await appendEvent(
      tx,
      accountChanged('user.invited', change, {
        audience: [user.id],
        data: { identity_id: user.id, role: body.role, expires_at: link.expires_at },
        description: `${nameOf(caller)} invited ${user.name} (${body.email}) as ${body.role}.`,
      }),
    );
    return { user: presentIdentity(user), ...link };
  });
}

async function findInvited(
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
