import { v7 as uuidv7 } from 'uuid';

import type { CallContext } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { hashOf } from '../domain/checked-token.ts';
import { formatSessionToken } from '../domain/dashboard-session.ts';
import type { Identity } from '../domain/identity.ts';
import { sessionCreated } from '../domain/sign-in-events.ts';
import { touchSignIn } from '../repository/identities.ts';
import { insertSession } from '../repository/sessions.ts';
import type { OpenedBy } from '../repository/sessions.ts';
import { keepDevice } from './device.ts';

export interface OpenedSession {
  readonly sessionToken: string;
  readonly expiresAt: string;
  readonly device: { readonly token: string; readonly expiresAt: string };
}

interface OpenFields {
  readonly user: Identity;
  readonly how: { readonly openedBy: OpenedBy; readonly description: string };
  readonly userAgent: string | null;
  /** The cookie by which the browser was known before. */
  readonly deviceToken: string | null;
  readonly context: CallContext;
}

/** Opens a dashboard session for somebody who has shown who they are. */
export async function openSession(
  tx: Transaction,
  { randomBytes }: Pick<Deps, 'randomBytes'>,
  { user, how, userAgent, deviceToken, context }: OpenFields,
): Promise<OpenedSession> {
  const { orgId, id: identityId } = user;
  const sessionToken = formatSessionToken(randomBytes(32));
  const id = uuidv7();
  const { expiresAt } = await insertSession(tx, {
    id,
    orgId,
    identityId,
    hash: hashOf(sessionToken),
    ip: context.ip,
    userAgent,
    openedBy: how.openedBy,
  });
  await touchSignIn(tx, { orgId, id: identityId });
  await appendEvent(tx, sessionCreated({ orgId, user, context }, { id, how: how.description }));
  const device = await keepDevice(tx, {
    deviceToken,
    user,
    fresh: () => Buffer.from(randomBytes(32)),
  });
  return { sessionToken, expiresAt: expiresAt.toISOString(), device };
}

/** Refuses who may not come in any more, in words for themselves. */
export function checkMayComeIn(user: Identity): void {
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
