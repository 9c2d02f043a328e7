import type { PublicAgentKey } from '#contracts/http/identities';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { canListKeysOf, canSee } from '../identities/domain/access.ts';
import { presentAgentKey } from './domain/present-agent-key.ts';
import { listAgentKeys as listRows } from './agent-keys.sql.ts';
import { findIdentity } from '../identities/identities.sql.ts';

interface ListFields {
  readonly principal: string;
  readonly id: string;
  readonly page: PageRequest;
}

/** Lists the unrevoked keys of one identity, without their values. */
export async function listAgentKeys(
  { db, readPrincipal }: Deps,
  { principal, id, page }: ListFields,
): Promise<Page<PublicAgentKey>> {
  const caller = readPrincipal(principal);
  const identity = await findIdentity(db, { orgId: caller.orgId, id });
  if (identity === undefined || !canSee(caller, identity)) {
    throw new AppError('not_found', 'There is no such identity among those you may see.');
  }
  if (!canListKeysOf(caller, identity)) {
    throw new AppError('forbidden', 'An agent sees the keys of subagents that it created itself.');
  }
  const rows = await listRows(db, {
    orgId: caller.orgId,
    identityId: id,
    afterId: parseSingleCursor(page.cursor, positions.id),
    limit: page.limit + 1,
  });
  const { items, next_cursor } = pageOf(rows, page.limit, ({ id }) => [id]);
  return { items: items.map(presentAgentKey), next_cursor };
}
