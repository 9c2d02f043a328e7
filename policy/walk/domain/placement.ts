import type { LadderStep } from '#contracts/permit';
import type { ChainLink } from '#contracts/vocabulary';

/**
 * The identity on which a remembered rule is created: from the requester upwards, the first
 * identity without `inherit_permissions`. Agents are treated as identities without it, whatever
 * their flag says.
 */
export function findPlacement(chain: readonly ChainLink[]): ChainLink {
  const placement = chain.findLast((link) => !inherits(link));
  if (placement === undefined) throw new Error('a chain begins with a user');
  return placement;
}

/**
 * The ancestors that may decide, from the nearest one up to the user. Subagents that inherit are
 * left out.
 */
export function buildLadder(
  chain: readonly ChainLink[],
  coversIdentity: (ancestor: ChainLink) => boolean,
): LadderStep[] {
  const ancestorsUpwards = chain.slice(0, -1).toReversed();
  // A user has no ancestors, so the list contains the user itself. (A user's own call never has a
  // permission gap.)
  const ancestors = ancestorsUpwards.length === 0 ? [...chain] : ancestorsUpwards;
  return ancestors
    .filter((link) => !inherits(link))
    .map((link) => ({
      id: link.id,
      kind: link.kind,
      name: link.name,
      covers: link.kind === 'user' || coversIdentity(link),
    }));
}

function inherits({ kind, inheritPermissions }: ChainLink): boolean {
  return kind === 'subagent' && inheritPermissions;
}
