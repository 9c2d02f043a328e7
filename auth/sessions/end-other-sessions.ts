import type { CallContext } from '#contracts/vocabulary';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { callerNameOf } from '../callers/domain/audit-entry.ts';
import { createChangeEvent } from '../callers/domain/change-event.ts';
import { endSessionsExcept } from './own-sessions.sql.ts';

/** Ends all sessions of the caller except the one that makes the request. */
export async function endOtherSessions(
  { db, readPrincipal, credentials }: Deps,
  { principal, context }: { principal: string; context: CallContext },
): Promise<Record<string, never>> {
  const caller = readPrincipal(principal);
  const { orgId, identityId, credential } = caller;
  await db.transaction(async (tx) => {
    const endedSessions = await endSessionsExcept(tx, { orgId, identityId, keepId: credential.id });
    if (endedSessions.length === 0) return;
    const description = `${callerNameOf(caller)} ended ${endedSessions.length} other sessions.`;
    const data = { session_ids: endedSessions.slice(0, 1_000), identity_id: identityId };
    const change = { audience: [identityId], data, description };
    await appendEvent(tx, createChangeEvent('session.ended', { caller, context }, change));
  });
  credentials.drop();
  return {};
}
