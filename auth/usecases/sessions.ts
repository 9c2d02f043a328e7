import type { PublicSession } from '#contracts/http/sign-in';
import type { CallContext } from '#contracts/vocabulary';
import { cursorOf } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { nameOf } from '../domain/audit-entry.ts';
import { accountChanged } from '../domain/sign-in-events.ts';
import { parseIdCursor } from '../repository/id-cursor.ts';
import { endOwnSession, endSessionsExcept, listOwnSessions } from '../repository/own-sessions.ts';

interface ListFields {
  readonly principal: string;
  readonly page: { readonly limit: number; readonly cursor: string | null };
}

interface ChangeFields {
  readonly principal: string;
  readonly context: CallContext;
}

/** The caller's own sessions that can still be used, the newest first. */
export async function listSessions(
  { db, readPrincipal }: Deps,
  { principal, page }: ListFields,
): Promise<{ items: PublicSession[]; next_cursor: string | null }> {
  const { orgId, identityId, credential } = readPrincipal(principal);
  const rows = await listOwnSessions(db, {
    orgId,
    identityId,
    beforeId: parseIdCursor(page.cursor),
    limit: page.limit + 1,
  });
  const shown = rows.slice(0, page.limit);
  const last = rows.length > page.limit ? shown.at(-1) : undefined;
  return {
    items: shown.map((row) => ({
      id: row.id,
      current: row.id === credential.id,
      opened_by: row.openedBy,
      created_at: row.createdAt.toISOString(),
      last_used_at: row.lastUsedAt.toISOString(),
      expires_at: row.expiresAt.toISOString(),
      ip: row.ip,
      user_agent: row.userAgent,
    })),
    next_cursor: last === undefined ? null : cursorOf([last.id]),
  };
}

/** Ends one session of the caller's own; those of others are as good as none. */
export async function endSession(
  { db, readPrincipal, credentials }: Deps,
  { principal, id, context }: ChangeFields & { readonly id: string },
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
  credentials.clear();
  return {};
}

/** Ends all sessions of the caller but the one it asks with. */
export async function endOtherSessions(
  { db, readPrincipal, credentials }: Deps,
  { principal, context }: ChangeFields,
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
  credentials.clear();
  return {};
}
