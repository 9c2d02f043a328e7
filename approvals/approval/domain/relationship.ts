import type { IdentityReference, Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { shownName } from '#templates';
import type { Approval } from './approval.ts';

export type Relationship = 'self' | 'downstream' | 'not_in_your_chain';

/**
 * The viewer's relationship to the requester. It is read from the chain that the approval stores,
 * because chains never change.
 */
export function relationshipTo(
  { requesterId, chain }: Pick<Approval, 'requesterId' | 'chain'>,
  viewer: Principal,
): Relationship {
  if (viewer.identityId === requesterId) return 'self';
  if (viewer.role === 'admin' || chain.includes(viewer.identityId)) return 'downstream';
  return 'not_in_your_chain';
}

/**
 * The relationship of a viewer who may read the approval; throws for others. Auditors read every
 * approval of their org.
 */
export function readerRelationshipOf(approval: Approval, viewer: Principal): Relationship {
  const relationship = relationshipTo(approval, viewer);
  if (relationship === 'not_in_your_chain' && viewer.role !== 'auditor')
    throw notInYourChainError();
  return relationship;
}

export function notInYourChainError(): AppError {
  return new AppError(
    'not_in_your_chain',
    'Only the user whose agent asks, the agents above that agent, and admins of the org may see and decide this approval; ask one of them.',
  );
}

export function identityReferenceOf({ identityId, kind, chain }: Principal): IdentityReference {
  return {
    id: identityId,
    kind,
    name: shownName(chain.at(-1)?.name ?? ''),
    path: chain.map((link) => shownName(link.name)),
  };
}
