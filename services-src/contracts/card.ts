import { z } from 'zod';

import type { ApprovalResponse } from './http/approvals.ts';

const digest = z.string().length(64);

/** The proof that an approval card is genuine, which a decision signs as well. */
export const cardProof = z.strictObject({
  /** The `statementDigest` of the permission gap. */
  gapDigest: digest,
  requestDigest: digest,
  /** The executor's MAC of the approval card. */
  mac: z.string().min(20).max(200),
});
export type CardProof = z.infer<typeof cardProof>;

/**
 * The title of a service, with the executor's MAC. The MAC of the card does not cover the title,
 * because that MAC covers the same members in every release (docs/reference/upgrades.md#what-may-change-between-two-releases).
 */
export const serviceTitle = z.strictObject({
  title: z.string().min(1).max(200),
  mac: cardProof.shape.mac,
});
export type ServiceTitle = z.infer<typeof serviceTitle>;

/** What the MAC of a title covers. */
export function titledService(approvalId: string, title: string) {
  return { approval_id: approvalId, service_title: title };
}

/** The members of an approval that never change after the call was suspended. */
const frozenFields = [
  'requester',
  /** The identity at which a remembered rule would be stored. */
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
  /** Whether the call runs at once when it is allowed. */
  'auto_call_on_approve',
  'created_at',
] as const satisfies (keyof ApprovalResponse)[];

/**
 * The approval card: what an approver sees before deciding, as the executor saw it when the call
 * was suspended.
 */
export interface Card extends Readonly<Pick<ApprovalResponse, (typeof frozenFields)[number]>> {
  /**
   * An approval id belongs to one call only, so a decision is always about the call that was shown.
   */
  readonly approval_id: string;
  readonly gap_digest: string;
  readonly request_digest: string;
}

/** Picks the approval card from an approval. */
function cardOf(
  approval: Omit<StoredApproval, 'proof'>,
  { gapDigest, requestDigest }: CardProof,
): Card {
  const frozenValues = Object.fromEntries(frozenFields.map((name) => [name, approval[name]]));
  return {
    ...(frozenValues as Pick<ApprovalResponse, (typeof frozenFields)[number]>),
    approval_id: approval.id,
    gap_digest: gapDigest,
    request_digest: requestDigest,
  };
}

/** An approval as the component approvals stores it, with the proof of its approval card. */
export type StoredApproval = Omit<ApprovalResponse, 'verified' | 'unverified'> & {
  readonly proof: CardProof | null;
  /** The executor's MAC of the service's title. */
  readonly title_mac?: string | undefined;
};

interface CardCheck {
  holds(card: unknown, mac: string): boolean;
}

/**
 * Makes the public form of an approval. It says whether the approval card is genuine and belongs to
 * the approval that was requested, and if not, why; it leaves out the proof, and a title of the
 * service that the executor did not verify.
 */
export function showApproval(
  { proof, title_mac: titleMac, service_title: title, ...facts }: StoredApproval,
  cardCheck: CardCheck,
  requestedId = facts.id,
): ApprovalResponse {
  const isTitled =
    title !== undefined &&
    titleMac !== undefined &&
    cardCheck.holds(titledService(facts.id, title), titleMac);
  const approval = isTitled ? { ...facts, service_title: title } : facts;
  if (proof === null) return { ...approval, verified: false, unverified: 'earlier_version' };
  const isGenuine = facts.id === requestedId && cardCheck.holds(cardOf(facts, proof), proof.mac);
  return isGenuine
    ? { ...approval, verified: true }
    : { ...approval, verified: false, unverified: 'changed' };
}
