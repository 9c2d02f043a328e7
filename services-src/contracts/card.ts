import { z } from 'zod';

import type { ApprovalResponse } from './http/approvals.ts';

const digest = z.string().length(64);

/** What an approval's card is checked by, and a decision is signed on. */
export const cardProof = z.strictObject({
  /** `statementDigest` of the gap. */
  gapDigest: digest,
  requestDigest: digest,
  /** Of the card, by the executor. */
  mac: z.string().min(20).max(200),
});
export type CardProof = z.infer<typeof cardProof>;

/** What of an approval is as it was when the call was suspended, names included. */
const frozenFields = [
  'requester',
  /** Where a rule would stand. */
  'placement',
  'service',
  'template',
  'action',
  'risk',
  'permission_keys',
  'derived_keys',
  'suggested_tiers',
  'action_description',
  'request',
  'disclosed',
  /** Whether an allow runs it at once. */
  'auto_call_on_approve',
  'created_at',
] as const satisfies (keyof ApprovalResponse)[];

/** What a decider goes by, as the executor saw it when the call was suspended. */
export interface Card extends Readonly<Pick<ApprovalResponse, (typeof frozenFields)[number]>> {
  /** Under one id only one call is ever shown: what is decided is what was looked at. */
  readonly approval_id: string;
  readonly gap_digest: string;
  readonly request_digest: string;
}

/** The card that an approval shows. */
function cardOf(
  approval: Omit<StoredApproval, 'proof'>,
  { gapDigest, requestDigest }: CardProof,
): Card {
  const frozen = Object.fromEntries(frozenFields.map((name) => [name, approval[name]]));
  return {
    ...(frozen as Pick<ApprovalResponse, (typeof frozenFields)[number]>),
    approval_id: approval.id,
    gap_digest: gapDigest,
    request_digest: requestDigest,
  };
}

/** An approval as approvals stores it, with what its card is checked by. */
export type StoredApproval = Omit<ApprovalResponse, 'verified' | 'unverified'> & {
  readonly proof: CardProof | null;
};

interface CardCheck {
  holds(card: unknown, mac: string): boolean;
}

/**
 * An approval as people and agents read it: with whether its card holds, and is that of the one
 * that was asked for, and if not, why; without what proves it.
 */
export function showApproval(
  { proof, ...approval }: StoredApproval,
  cards: CardCheck,
  askedFor = approval.id,
): ApprovalResponse {
  if (proof === null) return { ...approval, verified: false, unverified: 'earlier_version' };
  const holds = approval.id === askedFor && cards.holds(cardOf(approval, proof), proof.mac);
  return holds
    ? { ...approval, verified: true }
    : { ...approval, verified: false, unverified: 'changed' };
}
