import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { callerNameOf } from '../callers/domain/audit-entry.ts';
import { createChangeEvent } from '../callers/domain/change-event.ts';
import { endOwnSession } from './own-sessions.sql.ts';

/** Ends one of the caller's own sessions. Sessions of other users are reported as not found. */
export async function endSession(
  { db, readPrincipal, credentials }: Deps,
  { principal, id, context }: { principal: string; id: string; context: CallContext },
): Promise<Record<string, never>> {
  const caller = readPrincipal(principal);
  const { orgId, identityId } = caller;
  await db.transaction(async (tx) => {
    if (!(await endOwnSession(tx, { orgId, identityId, id }))) {
      throw new AppError('not_found', 'There is no such session among your own.');
    }
    const description = `${callerNameOf(caller)} ended a session.`;
    const data = { session_id: id, identity_id: identityId };
    const change = { audience: [identityId], data, description };
    await appendEvent(tx, createChangeEvent('session.ended', { caller, context }, change));
  });
  credentials.drop();
  return {};
}
