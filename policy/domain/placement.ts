import type { LadderStep } from '#contracts/permit';
import type { ChainLink } from '#contracts/vocabulary';

/**
 * Where a remembered rule goes: the first identity without `inherit_permissions`, walking up from
 * and including the requester. An agent counts as such, whatever its flag says.
 */
export function findPlacement(chain: readonly ChainLink[]): ChainLink {
  const placement = chain.findLast((link) => !inherits(link));
  if (placement === undefined) throw new Error('a chain begins with a user');
  return placement;
}

/** Who could decide: nearest ancestor first, those that inherit left out, the user last. */
export function buildLadder(
  chain: readonly ChainLink[],
  covers: (ancestor: ChainLink) => boolean,
): LadderStep[] {
  const above = chain.slice(0, -1).toReversed();
  // A user's own call has no gap; its ladder would be the user itself.
  const ancestors = above.length === 0 ? [...chain] : above;
  return ancestors
    .filter((link) => !inherits(link))
    .map((link) => ({
      id: link.id,
      kind: link.kind,
      name: link.name,
      covers: link.kind === 'user' || covers(link),
    }));
}

function inherits({ kind, inheritPermissions }: ChainLink): boolean {
  return kind === 'subagent' && inheritPermissions;
}
