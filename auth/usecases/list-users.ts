import type { Identity as PublicIdentity } from '#contracts/http/identities';
import { cursorOf } from '#database';
import { readReader } from '../callers.ts';
import type { Deps } from '../deps.ts';
import { presentIdentity } from '../domain/present-identity.ts';
import { parseIdCursor } from '../repository/id-cursor.ts';
import { listIdentities } from '../repository/identities.ts';

export async function listUsers(
  { db, readPrincipal }: Deps,
  {
    principal,
    page,
  }: { principal: string; page: { readonly limit: number; readonly cursor: string | null } },
): Promise<{ items: PublicIdentity[]; next_cursor: string | null }> {
  const { orgId } = readReader({ readPrincipal }, principal);
  const rows = await listIdentities(db, {
    orgId,
    withinId: null,
    kind: 'user',
    afterId: parseIdCursor(page.cursor),
    limit: page.limit + 1,
  });
  const shown = rows.slice(0, page.limit);
  const last = rows.length > page.limit ? shown.at(-1) : undefined;
  return {
    items: shown.map(presentIdentity),
    next_cursor: last === undefined ? null : cursorOf([last.id]),
  };
}
