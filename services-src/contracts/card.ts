import { z } from 'zod';

import type { disclosedField } from './audit.ts';
import type { ApprovalResponse } from './http/approvals.ts';
import type { SuggestedTier } from './permit.ts';

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

/** What a decider goes by, as the executor saw it when the call was suspended; names as they were then. */
export interface Card {
  /** Under one id only one call is ever shown: what is decided is what was looked at. */
  readonly approval_id: string;
  readonly gap_digest: string;
  readonly request_digest: string;
  readonly requester: ApprovalResponse['requester'];
  /** Where a rule would stand. */
  readonly placement: ApprovalResponse['placement'];
  readonly risk: ApprovalResponse['risk'];
  readonly permission_keys: readonly string[];
  readonly suggested_tiers: readonly SuggestedTier[];
  readonly action_description: string;
  readonly request: ApprovalResponse['request'];
  readonly disclosed: readonly z.infer<typeof disclosedField>[];
}

/** The card that an approval shows. */
function cardOf(
  approval: Omit<ApprovalResponse, 'verified'>,
  { gapDigest, requestDigest }: CardProof,
): Card {
  return {
    approval_id: approval.id,
    gap_digest: gapDigest,
    request_digest: requestDigest,
    requester: approval.requester,
    placement: approval.placement,
    risk: approval.risk,
    permission_keys: approval.permission_keys,
    suggested_tiers: approval.suggested_tiers,
    action_description: approval.action_description,
    request: approval.request,
    disclosed: approval.disclosed,
  };
}

/** An approval as approvals stores it, with what its card is checked by. */
export type StoredApproval = Omit<ApprovalResponse, 'verified'> & {
  readonly proof: CardProof | null;
};

interface CardCheck {
  holds(card: unknown, mac: string): boolean;
}

/**
 * An approval as people and agents read it: with whether its card holds, and is that of the one
 * that was asked for; without what proves it.
 */
export function showApproval(
  { proof, ...approval }: StoredApproval,
  cards: CardCheck,
  askedFor = approval.id,
): ApprovalResponse {
  const verified =
    proof !== null && approval.id === askedFor && cards.holds(cardOf(approval, proof), proof.mac);
  return { ...approval, verified };
}
