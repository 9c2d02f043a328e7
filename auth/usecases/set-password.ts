import type { CallContext, Principal } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { nameOf } from '../domain/audit-entry.ts';
import { findPasswordProblem } from '../domain/password.ts';
import { accountChanged } from '../domain/sign-in-events.ts';
import { insertLocalAccount, replacePasswordHash } from '../repository/local-accounts.ts';
import { endSessionsExcept, useUpLinkSession } from '../repository/own-sessions.ts';
import { clearAttempts } from '../repository/sign-in-attempts.ts';
import { forgetDevices } from '../repository/sign-in-devices.ts';
import { invalidateSignInLinks } from '../repository/sign-in-links.ts';
import { setUserEmail } from '../repository/users.ts';
import { passwordChangeCounts, recordFailure, slowDown } from '../sign-in/attempts.ts';
import { findPasswordStanding } from '../sign-in/password-standing.ts';
import type { PasswordStanding } from '../sign-in/password-standing.ts';

interface SetPasswordFields {
  readonly principal: string;
  readonly context: CallContext;
  readonly email: string | null;
  readonly current: string | null;
  readonly password: string;
}

/**
 * Sets the caller's password: within an hour of coming by a one-time link, once, or with the
 * current password. Ends every other session of the user, and links that are still open.
 */
export async function setPassword(
  deps: Deps,
  { principal, context, email: given, current, password }: SetPasswordFields,
): Promise<Record<string, never>> {
  const { db, passwords } = deps;
  const standing = await findPasswordStanding(deps, principal);
  const { caller, account, isFromLink } = standing;
  if (!isFromLink) await checkCurrent(deps, standing, { current, context });
  const email = account?.email ?? given;
  if (email === null) {
    throw new AppError('invalid_params', 'An e-mail address is needed to sign in with later.');
  }
  const problem = findPasswordProblem(password, { email });
  if (problem !== null) throw new AppError('invalid_params', problem);
  const { orgId, identityId, credential } = caller;
  const to = await passwords.hash(password, { owner: identityId, isKnown: true });

  await db.transaction(async (tx) => {
    if (isFromLink && !(await useUpLinkSession(tx, { orgId, id: credential.id }))) {
      throw changedMeanwhile();
    }
    if (account === undefined) await createAccount(tx, caller, email);
    const from = account?.passwordHash ?? null;
    if (!(await replacePasswordHash(tx, { orgId, identityId, from, to }))) throw changedMeanwhile();
    await endSessionsExcept(tx, { orgId, identityId, keepId: credential.id });
    await invalidateSignInLinks(tx, { orgId, identityId });
    await clearAttempts(tx, passwordChangeCounts(identityId));
    await forgetDevices(tx, { orgId, identityId });
    await appendEvent(
      tx,
      accountChanged(
        'password.changed',
        { caller, context },
        {
          audience: [identityId],
          data: { identity_id: identityId },
          description: `${nameOf(caller)} set a password; every other session of theirs ended.`,
        },
      ),
    );
  });
  deps.credentials.drop();
  return {};
}

async function checkCurrent(
  deps: Deps,
  { caller, account }: PasswordStanding,
  { current, context }: { current: string | null; context: CallContext },
): Promise<void> {
  if (account === undefined || account.passwordHash === null) {
    throw new AppError('forbidden', 'Ask an admin for a sign-in link to set a password with.');
  }
  await slowDown(deps, passwordChangeCounts(caller.identityId));
  const asker = { owner: caller.identityId, isKnown: true };
  if (current !== null && (await deps.passwords.verify(current, account.passwordHash, asker))) {
    return;
  }
  await recordFailure(deps, account, context);
  throw new AppError('forbidden', 'The current password is wrong.');
}

async function createAccount(tx: Transaction, caller: Principal, email: string): Promise<void> {
  const { orgId, identityId } = caller;
  if (!(await insertLocalAccount(tx, { orgId, identityId, email }))) {
    throw new AppError('conflict', 'Another user signs in with this e-mail address; use your own.');
  }
  await setUserEmail(tx, { orgId, id: identityId, email });
}

function changedMeanwhile(): AppError {
  return new AppError('conflict', 'The password was set meanwhile; sign in with the new one.');
}
