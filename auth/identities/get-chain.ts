import type { ChainLink, Role } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { standingOf } from './domain/identity.ts';
import type { Standing } from './domain/identity.ts';
import { listCheckedChain } from './chain.sql.ts';

interface CheckedChain {
  readonly active: boolean;
  readonly standing: Standing;
  readonly chain: ChainLink[];
  readonly role: Role | null;
  readonly selfApproving: { agentId: string; clientIds: string[] }[];
}

/**
 * Reads the current chain of an identity, never from a cache, because policy and approvals use it
 * to check calls again.
 */
export async function getChain(
  { db }: Deps,
  { orgId, identityId }: { orgId: string; identityId: string },
): Promise<CheckedChain> {
  const links = await listCheckedChain(db, { orgId, id: identityId });
  const ownLink = links.at(-1);
  if (ownLink === undefined) throw new AppError('not_found', 'There is no such identity.');
  const chainStanding = standingOf(links);
  return {
    active: chainStanding === 'active',
    standing: chainStanding,
    chain: links.map(({ id, kind, name, inheritPermissions }) => ({
      id,
      kind,
      name,
      inheritPermissions,
    })),
    role: ownLink.role,
    selfApproving: links
      .filter(({ selfApprovingClients }) => selfApprovingClients.length > 0)
      .map(({ id, selfApprovingClients }) => ({
        agentId: id,
        clientIds: [...selfApprovingClients],
      })),
  };
}
