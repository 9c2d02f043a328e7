import type { Identity as PublicIdentity } from '#contracts/http/identities';
import { cursorOf } from '#database';
import type { Deps } from '../deps.ts';
import { seesWholeOrg } from '../domain/access.ts';
import { presentIdentity } from '../domain/present-identity.ts';
import { parseIdCursor } from '../repository/id-cursor.ts';
import { listIdentities as listRows } from '../repository/identities.ts';

interface ListFields {
  readonly principal: string;
  readonly page: { readonly limit: number; readonly cursor: string | null };
}

/** Admins and auditors list the org, everybody else their own subtree. */
export async function listIdentities(
  { db, readPrincipal }: Deps,
  { principal, page }: ListFields,
): Promise<{ items: PublicIdentity[]; next_cursor: string | null }> {
  const caller = readPrincipal(principal);
  const rows = await listRows(db, {
    orgId: caller.orgId,
    withinId: seesWholeOrg(caller) ? null : caller.identityId,
    afterId: parseIdCursor(page.cursor),
    limit: page.limit + 1,
  });
  const items = rows.slice(0, page.limit);
  const last = rows.length > page.limit ? items.at(-1) : undefined;
  return {
    items: items.map(presentIdentity),
    next_cursor: last === undefined ? null : cursorOf([last.id]),
  };
}
