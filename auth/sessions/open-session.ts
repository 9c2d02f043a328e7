import { v7 as uuidv7 } from 'uuid';

import type { CallContext } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { hashToken } from '../credentials/domain/checked-token.ts';
import { formatSessionToken } from '../credentials/domain/session-token.ts';
import type { Identity } from '../identities/domain/identity.ts';
import { sessionCreatedEvent } from './domain/sign-in-events.ts';
import { touchSignIn } from '../identities/identities.sql.ts';
import { insertSession } from './sessions.sql.ts';
import type { OpenedBy } from './sessions.sql.ts';
import { rememberBrowser } from './remember-device.ts';

export interface OpenedSession {
  readonly sessionToken: string;
  readonly expiresAt: string;
  readonly device: { readonly token: string; readonly expiresAt: string };
}

interface OpenSessionFields {
  readonly user: Identity;
  readonly how: { readonly openedBy: OpenedBy; readonly description: string };
  readonly userAgent: string | null;
  /** The cookie of a browser in which a user signed in before; null for a new browser. */
  readonly deviceToken: string | null;
  readonly context: CallContext;
}

/** Opens a dashboard session for a user who has just been authenticated. */
export async function openSession(
  tx: Transaction,
  { randomBytes }: Pick<Deps, 'randomBytes'>,
  { user, how, userAgent, deviceToken, context }: OpenSessionFields,
): Promise<OpenedSession> {
  const { orgId, id: identityId } = user;
  const sessionToken = formatSessionToken(randomBytes(32));
  const id = uuidv7();
  const { expiresAt } = await insertSession(tx, {
    id,
    orgId,
    identityId,
    hash: hashToken(sessionToken),
    ip: context.ip,
    userAgent,
    openedBy: how.openedBy,
  });
  await touchSignIn(tx, { orgId, id: identityId });
  await appendEvent(
    tx,
    sessionCreatedEvent({ orgId, user, context }, { id, how: how.description }),
  );
  const device = await rememberBrowser(tx, {
    deviceToken,
    user,
    newToken: () => Buffer.from(randomBytes(32)),
  });
  return { sessionToken, expiresAt: expiresAt.toISOString(), device };
}

/** Refuses users who are archived, revoked or expired. The error explains this to the user. */
export function assertMaySignIn(user: Identity): void {
  if (user.status === 'archived') {
    throw new AppError(
      'identity_archived',
      'Your account is archived; ask an admin to restore it.',
    );
  }
  if (user.status === 'revoked' || (user.expiresAt !== null && user.expiresAt <= new Date())) {
    throw new AppError('forbidden', 'Your access has ended; ask an admin.');
  }
}
