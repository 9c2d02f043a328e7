import type { Identity as PublicIdentity } from '#contracts/http/identities';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import type { Deps } from '../deps.ts';
import { seesWholeOrg } from '../domain/access.ts';
import { presentIdentity } from '../domain/present-identity.ts';
import { listIdentities as listRows } from '../repository/identities.ts';

interface ListFields {
  readonly principal: string;
  readonly page: PageRequest;
}

/** Admins and auditors list the org, everybody else their own subtree. */
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
