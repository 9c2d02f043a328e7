import type { Identity as PublicIdentity } from '#contracts/http/identities';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import { readReader } from '../callers.ts';
import type { Deps } from '../deps.ts';
import { presentIdentity } from '../domain/present-identity.ts';
import { listIdentities } from '../repository/identities.ts';

export async function listUsers(
  { db, readPrincipal }: Deps,
  { principal, page }: { principal: string; page: PageRequest },
): Promise<Page<PublicIdentity>> {
  const { orgId } = readReader({ readPrincipal }, principal);
  const rows = await listIdentities(db, {
    orgId,
    withinId: null,
    kind: 'user',
    afterId: parseSingleCursor(page.cursor, positions.id),
    limit: page.limit + 1,
  });
  const { items, next_cursor } = pageOf(rows, page.limit, ({ id }) => [id]);
  return { items: items.map(presentIdentity), next_cursor };
}
