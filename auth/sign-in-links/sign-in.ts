import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { hashToken } from '../credentials/domain/checked-token.ts';
import { isSignInToken } from '../credentials/domain/session-token.ts';
import { findIdentity } from '../identities/identities.sql.ts';
import { consumeSignInLink } from './sign-in-links.sql.ts';
import { openSession } from '../sessions/open-session.ts';
import type { OpenedSession } from '../sessions/open-session.ts';

interface SignInFields {
  readonly token: string;
  readonly userAgent: string | null;
  readonly deviceToken: string | null;
  readonly context: CallContext;
}

/** Consumes a one-time sign-in link and opens a dashboard session. */
export async function signIn(
  deps: Deps,
  { token, userAgent, deviceToken, context }: SignInFields,
): Promise<OpenedSession> {
  if (!isSignInToken(token)) throw linkExpiredError();

  return deps.db.transaction(async (tx) => {
    const link = await consumeSignInLink(tx, { hash: hashToken(token) });
    if (link === undefined) throw linkExpiredError();
    const user = await findIdentity(tx, { orgId: link.orgId, id: link.identityId });
    if (user === undefined) throw linkExpiredError();
    const sessionOrigin = { openedBy: 'link', description: 'with a one-time link' } as const;
    return openSession(tx, deps, { user, how: sessionOrigin, userAgent, deviceToken, context });
  });
}

function linkExpiredError(): AppError {
  return new AppError(
    'expired',
    'This sign-in link was used already, replaced by a newer one, or has expired; ask for a new one.',
  );
}
