import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { getIdentity } from '../repository/identities.ts';
import { findAccountToSignIn, lockPassword } from '../repository/local-accounts.ts';
import { clearAttempts } from '../repository/sign-in-attempts.ts';
import { recordFailure, signInAsker, signInCounts, slowDown } from '../sign-in/attempts.ts';
import { findDevice } from '../sign-in/device.ts';
import { checkMayComeIn, openSession } from '../sign-in/open-session.ts';
import type { OpenedSession } from '../sign-in/open-session.ts';

interface SignInFields {
  readonly body: {
    readonly email: string;
    readonly password: string;
    readonly org?: string | undefined;
  };
  readonly userAgent: string | null;
  readonly deviceToken: string | null;
  readonly context: CallContext;
}

/** No user has these ids. */
const nobody = {
  orgId: '00000000-0000-0000-0000-000000000000',
  identityId: '00000000-0000-0000-0000-000000000000',
};

/**
 * Opens a dashboard session for an e-mail address and its password. Whether there is such an
 * account shows neither in the answer, nor in its time, nor in how often one may try.
 */
export async function signInWithPassword(
  deps: Deps,
  { body, userAgent, deviceToken, context }: SignInFields,
): Promise<OpenedSession> {
  const { db, passwords } = deps;
  const named = { email: body.email.trim(), orgName: body.org ?? null };
  const { account, countedAs } = await findAccountToSignIn(db, named);
  const attempt = {
    account: countedAs ?? named.email.toLowerCase(),
    ip: context.ip,
    // Looked for without an account, too: an answer that comes sooner would say that there is none.
    device: await findDevice(db, deviceToken, account ?? nobody),
  };
  const counts = signInCounts(attempt);
  await slowDown(deps, counts);

  const asker = signInAsker(attempt);
  const isRight = await passwords.verify(body.password, account?.passwordHash ?? null, asker);
  if (account === undefined || !isRight) {
    // Not waited for: an answer that takes longer would say that there is such an account.
    if (account !== undefined) void recordFailure(deps, account, context);
    throw wrong();
  }
  return db.transaction(async (tx) => {
    if (!(await lockPassword(tx, account))) throw wrong();
    await clearAttempts(tx, counts);
    const user = await getIdentity(tx, { orgId: account.orgId, id: account.identityId });
    checkMayComeIn(user);
    const how = { openedBy: 'password', description: 'with a password' } as const;
    return openSession(tx, deps, { user, how, userAgent, deviceToken, context });
  });
}

function wrong(): AppError {
  return new AppError(
    'unauthenticated',
    'The e-mail address or the password is wrong; check both and try again.',
  );
}
