import type { OauthClient } from '#contracts/http/oauth-clients';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { seesWholeOrg } from '../callers/domain/roles.ts';
import { presentClient } from './domain/oauth-connection.ts';
import { listOrgClients } from './org-clients.sql.ts';

interface ListFields {
  readonly principal: string;
  readonly page: PageRequest;
}

/**
 * Lists the OAuth clients of the caller's org, each with the users and agents that it is bound to.
 */
export async function listOauthClients(
  { db, readPrincipal }: Deps,
  { principal, page }: ListFields,
): Promise<Page<OauthClient>> {
  const caller = readPrincipal(principal);
  if (!seesWholeOrg(caller)) {
    throw new AppError('forbidden', 'OAuth clients of the org are shown to its admins.');
  }
  const rows = await listOrgClients(db, {
    orgId: caller.orgId,
    afterId: parseSingleCursor(page.cursor, positions.text),
    limit: page.limit + 1,
  });
  const { items, next_cursor } = pageOf(rows, page.limit, ({ id }) => [id]);
  return { items: items.map(presentClient), next_cursor };
}
