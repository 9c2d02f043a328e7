import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { auditEntryOf, callerNameOf } from '../callers/domain/audit-entry.ts';
import { endSession } from './sessions.sql.ts';

/** Ends the session that makes the request. Ending a session twice is no error. */
export async function signOut(
  { db, readPrincipal, credentials }: Deps,
  { principal, context }: { principal: string; context: CallContext },
): Promise<Record<string, never>> {
  const caller = readPrincipal(principal);
  if (caller.credential.kind !== 'session') {
    throw new AppError('forbidden', 'Only a dashboard session can sign out.');
  }
  await db.transaction(async (tx) => {
    const sessionId = caller.credential.id;
    const endedSession = await endSession(tx, { orgId: caller.orgId, id: sessionId });
    if (!endedSession) return;
    await appendEvent(tx, {
      type: 'session.ended',
      orgId: caller.orgId,
      audience: [caller.userId],
      data: { session_id: sessionId, identity_id: caller.identityId },
      audit: auditEntryOf(caller, context, `${callerNameOf(caller)} signed out.`),
    });
  });
  credentials.drop();
  return {};
}
