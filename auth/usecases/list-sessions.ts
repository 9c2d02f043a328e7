import type { PublicSession } from '#contracts/http/sign-in';
import { cursorOf } from '#database';
import type { Deps } from '../deps.ts';
import { parseIdCursor } from '../repository/id-cursor.ts';
import { listOwnSessions } from '../repository/own-sessions.ts';

interface ListFields {
  readonly principal: string;
  readonly page: { readonly limit: number; readonly cursor: string | null };
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
