import type { ChainLink, Role } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { standingOf } from '../domain/identity.ts';
import type { Standing } from '../domain/identity.ts';
import { listCheckedChain } from '../repository/chain.ts';

interface CheckedChain {
  readonly active: boolean;
  readonly standing: Standing;
  readonly chain: ChainLink[];
  readonly role: Role | null;
  readonly selfApproving: { agentId: string; clientIds: string[] }[];
}

/** An identity's chain as it stands now, never from a cache: resolve and replay are re-checked by it. */
export async function getChain(
  { db }: Deps,
  { orgId, identityId }: { orgId: string; identityId: string },
): Promise<CheckedChain> {
  const links = await listCheckedChain(db, { orgId, id: identityId });
  const own = links.at(-1);
  if (own === undefined) throw new AppError('not_found', 'There is no such identity.');
  const standing = standingOf(links);
  return {
    active: standing === 'active',
    standing,
    chain: links.map(({ id, kind, name, inheritPermissions }) => ({
      id,
      kind,
      name,
      inheritPermissions,
    })),
    role: own.role,
    selfApproving: links
      .filter(({ selfApprovingClients }) => selfApprovingClients.length > 0)
      .map(({ id, selfApprovingClients }) => ({
        agentId: id,
        clientIds: [...selfApprovingClients],
      })),
  };
}
