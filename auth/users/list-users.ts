import type { Identity as PublicIdentity } from '#contracts/http/identities';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import { readAdminOrAuditor } from '../callers/read-admin.ts';
import type { Deps } from '../deps.ts';
import { presentIdentity } from '../identities/domain/present-identity.ts';
import { listIdentities } from '../identities/identities.sql.ts';

export async function listUsers(
  { db, readPrincipal }: Deps,
  { principal, page }: { principal: string; page: PageRequest },
): Promise<Page<PublicIdentity>> {
  const { orgId } = readAdminOrAuditor({ readPrincipal }, principal);
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
