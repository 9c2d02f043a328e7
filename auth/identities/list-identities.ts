import type { Identity as PublicIdentity } from '#contracts/http/identities';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import type { Deps } from '../deps.ts';
import { seesWholeOrg } from '../callers/domain/roles.ts';
import { presentIdentity } from './domain/present-identity.ts';
import { listIdentities as listRows } from './identities.sql.ts';

interface ListFields {
  readonly principal: string;
  readonly page: PageRequest;
}

/** Lists the whole org for admins and auditors, and their own subtree for all other callers. */
export async function listIdentities(
  { db, readPrincipal }: Deps,
  { principal, page }: ListFields,
): Promise<Page<PublicIdentity>> {
  const caller = readPrincipal(principal);
  const rows = await listRows(db, {
    orgId: caller.orgId,
    withinId: seesWholeOrg(caller) ? null : caller.identityId,
    afterId: parseSingleCursor(page.cursor, positions.id),
    limit: page.limit + 1,
  });
  const { items, next_cursor } = pageOf(rows, page.limit, ({ id }) => [id]);
  return { items: items.map(presentIdentity), next_cursor };
}
