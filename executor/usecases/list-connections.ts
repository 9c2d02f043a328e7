import type { Connection } from '#contracts/http/connections';
import { cursorOf } from '#database';
import { presentConnection } from '../connections/present.ts';
import type { Deps } from '../deps.ts';
import { listConnections as listStoredConnections } from '../repository/connection.ts';

/** What the caller's user can use: its own and the org's; an auditor reads of all of them. */
export async function listConnections(
  { db, readPrincipal }: Pick<Deps, 'db' | 'readPrincipal'>,
  {
    principal: signed,
    page,
  }: { principal: string; page: { limit: number; cursor: string | null } },
): Promise<{ items: Connection[]; next_cursor: string | null }> {
  const { orgId, userId, role } = readPrincipal(signed);
  const found = await listStoredConnections(db, {
    orgId,
    userId: role === 'auditor' ? null : userId,
    limit: page.limit + 1,
    cursor: page.cursor,
  });
  const items = found.slice(0, page.limit).map(presentConnection);
  const last = items.at(-1);
  return { items, next_cursor: found.length > page.limit && last ? cursorOf([last.id]) : null };
}
