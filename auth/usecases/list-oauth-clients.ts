import type { OauthClient } from '#contracts/http/oauth-clients';
import { cursorOf } from '#database';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { seesWholeOrg } from '../domain/access.ts';
import { presentClient } from '../domain/oauth-connection.ts';
import { parseClientCursor } from '../repository/id-cursor.ts';
import { listOrgClients } from '../repository/org-clients.ts';

interface ListFields {
  readonly principal: string;
  readonly page: { readonly limit: number; readonly cursor: string | null };
}

/** OAuth clients of the org, with who is bound to them. */
export async function listOauthClients(
  { db, readPrincipal }: Deps,
  { principal, page }: ListFields,
): Promise<{ items: OauthClient[]; next_cursor: string | null }> {
  const caller = readPrincipal(principal);
  if (!seesWholeOrg(caller)) {
    throw new AppError('forbidden', 'OAuth clients of the org are shown to its admins.');
  }
  const rows = await listOrgClients(db, {
    orgId: caller.orgId,
    afterId: parseClientCursor(page.cursor),
    limit: page.limit + 1,
  });
  const items = rows.slice(0, page.limit);
  const last = rows.length > page.limit ? items.at(-1) : undefined;
  return {
    items: items.map(presentClient),
    next_cursor: last === undefined ? null : cursorOf([last.id]),
  };
}
