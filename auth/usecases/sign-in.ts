import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { hashOf } from '../domain/checked-token.ts';
import { isSignInToken } from '../domain/dashboard-session.ts';
import { findIdentity } from '../repository/identities.ts';
import { consumeSignInLink } from '../repository/sign-in-links.ts';
import { openSession } from '../sign-in/open-session.ts';
import type { OpenedSession } from '../sign-in/open-session.ts';

interface SignInFields {
  readonly token: string;
  readonly userAgent: string | null;
  readonly deviceToken: string | null;
  readonly context: CallContext;
}

/** Uses up a one-time sign-in link and opens a dashboard session. */
export async function signIn(
  deps: Deps,
  { token, userAgent, deviceToken, context }: SignInFields,
): Promise<OpenedSession> {
  if (!isSignInToken(token)) throw linkExpired();

  return deps.db.transaction(async (tx) => {
    const link = await consumeSignInLink(tx, { hash: hashOf(token) });
    if (link === undefined) throw linkExpired();
    const user = await findIdentity(tx, { orgId: link.orgId, id: link.identityId });
    if (user === undefined) throw linkExpired();
    const how = { openedBy: 'link', description: 'with a one-time link' } as const;
    return openSession(tx, deps, { user, how, userAgent, deviceToken, context });
  });
}

function linkExpired(): AppError {
  return new AppError(
    'expired',
    'This sign-in link was used already, replaced by a newer one, or has expired; ask for a new one.',
  );
}
