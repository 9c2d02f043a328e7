import type { CallContext, Principal } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { callerNameOf } from '../callers/domain/audit-entry.ts';
import { findPasswordProblem } from './domain/password.ts';
import { createChangeEvent } from '../callers/domain/change-event.ts';
import { insertLocalAccount, replacePasswordHash } from '../users/local-accounts.sql.ts';
import { endSessionsExcept, consumeLinkSession } from '../sessions/own-sessions.sql.ts';
import { clearAttempts } from './sign-in-attempts.sql.ts';
import { forgetDevices } from '../sessions/sign-in-devices.sql.ts';
import { invalidateSignInLinks } from '../sign-in-links/sign-in-links.sql.ts';
import { setUserEmail } from '../users/users.sql.ts';
import { passwordChangeCountersOf, recordFailedSignIn, countAttempt } from './count-attempts.ts';
import { findWaysToSetPassword } from './ways-to-set-password.ts';
import type { WaysToSetPassword } from './ways-to-set-password.ts';

interface SetPasswordFields {
  readonly principal: string;
  readonly context: CallContext;
  readonly email: string | null;
  readonly current: string | null;
  readonly password: string;
}

/**
 * Sets the caller's password. The caller must give the current password, or must have signed in
 * with a one-time link within the last hour; each link allows this once. Every other session and
 * every unused link of the user ends.
 */
export async function setPassword(
  deps: Deps,
  { principal, context, email: givenEmail, current, password }: SetPasswordFields,
): Promise<Record<string, never>> {
  const { db, passwordHasher: passwords } = deps;
  const ways = await findWaysToSetPassword(deps, principal);
  const { caller, account, isFromLink } = ways;
  if (!isFromLink) await checkCurrentPassword(deps, ways, { current, context });
  const email = account?.email ?? givenEmail;
  if (email === null) {
    throw new AppError('invalid_params', 'An e-mail address is needed to sign in with later.');
  }
  const problem = findPasswordProblem(password, { email });
  if (problem !== null) throw new AppError('invalid_params', problem);
  const { orgId, identityId, credential } = caller;
  const newHash = await passwords.hash(password, { owner: identityId, isKnown: true });

  await db.transaction(async (tx) => {
    if (isFromLink && !(await consumeLinkSession(tx, { orgId, id: credential.id }))) {
      throw changedMeanwhileError();
    }
    if (account === undefined) await createAccount(tx, caller, email);
    const previousHash = account?.passwordHash ?? null;
    if (!(await replacePasswordHash(tx, { orgId, identityId, from: previousHash, to: newHash })))
      throw changedMeanwhileError();
    await endSessionsExcept(tx, { orgId, identityId, keepId: credential.id });
    await invalidateSignInLinks(tx, { orgId, identityId });
    await clearAttempts(tx, passwordChangeCountersOf(identityId));
    await forgetDevices(tx, { orgId, identityId });
    await appendEvent(
      tx,
      createChangeEvent(
        'password.changed',
        { caller, context },
        {
          audience: [identityId],
          data: { identity_id: identityId },
          description: `${callerNameOf(caller)} set a password; every other session of theirs ended.`,
        },
      ),
    );
  });
  deps.credentials.drop();
  return {};
}

async function checkCurrentPassword(
  deps: Deps,
  { caller, account }: WaysToSetPassword,
  { current, context }: { current: string | null; context: CallContext },
): Promise<void> {
  if (account === undefined || account.passwordHash === null) {
    throw new AppError('forbidden', 'Ask an admin for a sign-in link to set a password with.');
  }
  await countAttempt(deps, passwordChangeCountersOf(caller.identityId));
  const requester = { owner: caller.identityId, isKnown: true };
  if (
    current !== null &&
    (await deps.passwordHasher.verify(current, account.passwordHash, requester))
  ) {
    return;
  }
  await recordFailedSignIn(deps, account, context);
  throw new AppError('forbidden', 'The current password is wrong.');
}

async function createAccount(tx: Transaction, caller: Principal, email: string): Promise<void> {
  const { orgId, identityId } = caller;
  if (!(await insertLocalAccount(tx, { orgId, identityId, email }))) {
    throw new AppError('conflict', 'Another user signs in with this e-mail address; use your own.');
  }
  await setUserEmail(tx, { orgId, id: identityId, email });
}

function changedMeanwhileError(): AppError {
  return new AppError('conflict', 'The password was set meanwhile; sign in with the new one.');
}
