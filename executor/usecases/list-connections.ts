import type { Connection } from '#contracts/http/connections';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import { presentConnection } from '../connections/present.ts';
import type { Deps } from '../deps.ts';
import { listConnections as listStoredConnections } from '../repository/connection.ts';

/** What the caller's user can use: its own and the org's; an auditor reads of all of them. */
export async function listConnections(
  { db, readPrincipal }: Pick<Deps, 'db' | 'readPrincipal'>,
  { principal: signed, page }: { principal: string; page: PageRequest },
): Promise<Page<Connection>> {
  const { orgId, userId, role } = readPrincipal(signed);
  const found = await listStoredConnections(db, {
    orgId,
    userId: role === 'auditor' ? null : userId,
    limit: page.limit + 1,
    before: parseSingleCursor(page.cursor, positions.id),
  });
  const { items, next_cursor } = pageOf(found, page.limit, ({ id }) => [id]);
  return { items: items.map(presentConnection), next_cursor };
}
