import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { nameOf } from '../domain/audit-entry.ts';
import { accountChanged } from '../domain/sign-in-events.ts';
import { endOwnSession } from '../repository/own-sessions.ts';

/** Ends one session of the caller's own; those of others are as good as none. */
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
    const description = `${nameOf(caller)} ended a session.`;
    const data = { session_id: id, identity_id: identityId };
    const change = { audience: [identityId], data, description };
    await appendEvent(tx, accountChanged('session.ended', { caller, context }, change));
  });
  credentials.drop();
  return {};
}
