import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { getIdentity } from '../identities/identities.sql.ts';
import { findAccountToSignIn, lockPassword } from '../users/local-accounts.sql.ts';
import { clearAttempts } from './sign-in-attempts.sql.ts';
import {
  recordFailedSignIn,
  signInRequesterOf,
  signInCountersOf,
  countAttempt,
} from './count-attempts.ts';
import { findDeviceHash } from '../sessions/remember-device.ts';
import { assertMaySignIn, openSession } from '../sessions/open-session.ts';
import type { OpenedSession } from '../sessions/open-session.ts';

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

/** Ids that no user has, for a sign-in with an unknown e-mail address. */
const unknownAccountIds = {
  orgId: '00000000-0000-0000-0000-000000000000',
  identityId: '00000000-0000-0000-0000-000000000000',
};

/**
 * Opens a dashboard session for an e-mail address and its password. The answer, the time that it
 * takes and the limit on attempts do not reveal whether the account exists.
 */
export async function signInWithPassword(
  deps: Deps,
  { body, userAgent, deviceToken, context }: SignInFields,
): Promise<OpenedSession> {
  const { db, passwordHasher: passwords } = deps;
  const accountName = { email: body.email.trim(), orgName: body.org ?? null };
  const { account, attemptsCountedById: countedAs } = await findAccountToSignIn(db, accountName);
  const attempt = {
    account: countedAs ?? accountName.email.toLowerCase(),
    ip: context.ip,
    // The query runs even without an account: a faster answer would reveal that there is none.
    device: await findDeviceHash(db, deviceToken, account ?? unknownAccountIds),
  };
  const counters = signInCountersOf(attempt);
  await countAttempt(deps, counters);

  const requester = signInRequesterOf(attempt);
  const isPasswordRight = await passwords.verify(
    body.password,
    account?.passwordHash ?? null,
    requester,
  );
  if (account === undefined || !isPasswordRight) {
    // The response does not wait for the record, because a slower response would reveal that the
    // account exists.
    if (account !== undefined) void recordFailedSignIn(deps, account, context);
    throw wrongPasswordError();
  }
  return db.transaction(async (tx) => {
    if (!(await lockPassword(tx, account))) throw wrongPasswordError();
    await clearAttempts(tx, counters);
    const user = await getIdentity(tx, { orgId: account.orgId, id: account.identityId });
    assertMaySignIn(user);
    const sessionOrigin = { openedBy: 'password', description: 'with a password' } as const;
    return openSession(tx, deps, { user, how: sessionOrigin, userAgent, deviceToken, context });
  });
}

function wrongPasswordError(): AppError {
  return new AppError(
    'unauthenticated',
    'The e-mail address or the password is wrong; check both and try again.',
  );
}
