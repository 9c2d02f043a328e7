import { v7 as uuidv7 } from 'uuid';

import { blankAuditEntry } from '#contracts/audit';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { hashOf } from '../domain/checked-token.ts';
import { formatSessionToken, isSignInToken } from '../domain/dashboard-session.ts';
import { findIdentity, touchSignIn } from '../repository/identities.ts';
import { insertSession } from '../repository/sessions.ts';
import { consumeSignInLink } from '../repository/sign-in-links.ts';

interface SignInFields {
  readonly token: string;
  readonly userAgent: string | null;
  readonly context: CallContext;
}

/** Uses up a one-time sign-in link and opens a dashboard session. */
export async function signIn(
  { db, randomBytes }: Deps,
  { token, userAgent, context }: SignInFields,
): Promise<{ sessionToken: string; expiresAt: string }> {
  if (!isSignInToken(token)) throw linkExpired();
  const sessionToken = formatSessionToken(randomBytes(32));

  return db.transaction(async (tx) => {
    const link = await consumeSignInLink(tx, { hash: hashOf(token) });
    if (link === undefined) throw linkExpired();
    const { orgId, identityId } = link;
    const user = await findIdentity(tx, { orgId, id: identityId });
    if (user === undefined) throw linkExpired();

    const sessionId = uuidv7();
    const { expiresAt } = await insertSession(tx, {
      id: sessionId,
      orgId,
      identityId,
      hash: hashOf(sessionToken),
      ip: context.ip,
      userAgent,
    });
    await touchSignIn(tx, { orgId, id: identityId });
    await appendEvent(tx, {
      type: 'session.created',
      orgId,
      audience: [identityId],
      data: { session_id: sessionId, identity_id: identityId },
      audit: {
        ...blankAuditEntry(`${user.name} signed in with a one-time link.`),
        user_id: identityId,
        identity: { id: identityId, kind: 'user', name: user.name, path: [user.name] },
        credential: { kind: 'session', id: sessionId, client_id: null },
        request_id: context.requestId,
        trace_id: context.traceId,
        ip: context.ip,
      },
    });
    return { sessionToken, expiresAt: expiresAt.toISOString() };
  });
}

function linkExpired(): AppError {
  return new AppError(
    'expired',
    'This sign-in link was used already, replaced by a newer one, or has expired; ask for a new one.',
  );
}
