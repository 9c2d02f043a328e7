import type { CallContext } from '#contracts/vocabulary';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { nameOf } from '../domain/audit-entry.ts';
import { accountChanged } from '../domain/sign-in-events.ts';
import { endSessionsExcept } from '../repository/own-sessions.ts';

/** Ends all sessions of the caller but the one it asks with. */
export async function endOtherSessions(
  { db, readPrincipal, credentials }: Deps,
  { principal, context }: { principal: string; context: CallContext },
): Promise<Record<string, never>> {
  const caller = readPrincipal(principal);
  const { orgId, identityId, credential } = caller;
  await db.transaction(async (tx) => {
    const ended = await endSessionsExcept(tx, { orgId, identityId, keepId: credential.id });
    if (ended.length === 0) return;
    const description = `${nameOf(caller)} ended ${ended.length} other sessions.`;
    const data = { session_ids: ended.slice(0, 1_000), identity_id: identityId };
    const change = { audience: [identityId], data, description };
    await appendEvent(tx, accountChanged('session.ended', { caller, context }, change));
  });
  credentials.drop();
  return {};
}
