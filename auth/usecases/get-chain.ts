import type { ChainLink, Role } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { standingOf } from '../domain/identity.ts';
import { findIdentity, listChain } from '../repository/identities.ts';

/** An identity's chain as it stands now, never from a cache: resolve and replay are re-checked by it. */
export async function getChain(
  { db }: Deps,
  { orgId, identityId }: { orgId: string; identityId: string },
): Promise<{ active: boolean; chain: ChainLink[]; role: Role | null }> {
  const [identity, links] = await Promise.all([
    findIdentity(db, { orgId, id: identityId }),
    listChain(db, { orgId, id: identityId }),
  ]);
  if (identity === undefined) throw new AppError('not_found', 'There is no such identity.');
  return {
    active: standingOf(links) === 'active',
    chain: links.map(({ id, kind, name, inheritPermissions }) => ({
      id,
      kind,
      name,
      inheritPermissions,
    })),
    role: identity.role,
  };
}
