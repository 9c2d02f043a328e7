import type { Connection } from '#contracts/http/connections';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import { presentConnection } from './present-connection.ts';
import type { Deps } from '../deps.ts';
import { listConnections as listStoredConnections } from './connection.sql.ts';

/**
 * Lists the connections that the caller's user can use: the user's own and the org's. An auditor
 * sees all of them.
 */
export async function listConnections(
  { db, readPrincipal }: Pick<Deps, 'db' | 'readPrincipal'>,
  { principal: signed, page }: { principal: string; page: PageRequest },
): Promise<Page<Connection>> {
  const { orgId, userId, role } = readPrincipal(signed);
  const storedConnections = await listStoredConnections(db, {
    orgId,
    userId: role === 'auditor' ? null : userId,
    limit: page.limit + 1,
    before: parseSingleCursor(page.cursor, positions.id),
  });
  const { items, next_cursor } = pageOf(storedConnections, page.limit, ({ id }) => [id]);
  return { items: items.map(presentConnection), next_cursor };
}
