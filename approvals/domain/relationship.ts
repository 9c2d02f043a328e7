import type { IdentityReference, Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { shownName } from '#templates';
import type { Approval } from './approval.ts';

export type Relationship = 'self' | 'downstream' | 'not_in_your_chain';

/** How the viewer stands to the requester. A chain never changes, so the stored one serves. */
export function relationshipTo(
  { requesterId, chain }: Pick<Approval, 'requesterId' | 'chain'>,
  viewer: Principal,
): Relationship {
  if (viewer.identityId === requesterId) return 'self';
  if (viewer.role === 'admin' || chain.includes(viewer.identityId)) return 'downstream';
  return 'not_in_your_chain';
}

/** The relationship of somebody who may read the approval: auditors read everything in their org. */
export function readerOf(approval: Approval, viewer: Principal): Relationship {
  const relationship = relationshipTo(approval, viewer);
  if (relationship === 'not_in_your_chain' && viewer.role !== 'auditor') throw notInYourChain();
  return relationship;
}

export function notInYourChain(): AppError {
  return new AppError(
    'not_in_your_chain',
    'This approval belongs to another chain; ask an ancestor of the requester or an org admin to act on it.',
  );
}

export function referenceOf({ identityId, kind, chain }: Principal): IdentityReference {
  return {
    id: identityId,
    kind,
    name: shownName(chain.at(-1)?.name ?? ''),
    path: chain.map((link) => shownName(link.name)),
  };
}
