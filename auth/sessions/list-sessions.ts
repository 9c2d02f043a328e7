import type { PublicSession } from '#contracts/http/sign-in';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import type { Deps } from '../deps.ts';
import { listOwnSessions } from './own-sessions.sql.ts';

interface ListFields {
  readonly principal: string;
  readonly page: PageRequest;
}

/** Lists the caller's own open sessions, the newest first. */
export async function listSessions(
  { db, readPrincipal }: Deps,
  { principal, page }: ListFields,
): Promise<Page<PublicSession>> {
  const { orgId, identityId, credential } = readPrincipal(principal);
  const rows = await listOwnSessions(db, {
    orgId,
    identityId,
    beforeId: parseSingleCursor(page.cursor, positions.id),
    limit: page.limit + 1,
  });
  const { items, next_cursor } = pageOf(rows, page.limit, ({ id }) => [id]);
  return {
    items: items.map((row) => ({
      id: row.id,
      current: row.id === credential.id,
      opened_by: row.openedBy,
      created_at: row.createdAt.toISOString(),
      last_used_at: row.lastUsedAt.toISOString(),
      expires_at: row.expiresAt.toISOString(),
      ip: row.ip,
      user_agent: row.userAgent,
    })),
    next_cursor,
  };
}
