import { z } from 'zod';

import { clientId } from './http/oauth-clients.ts';
import { id, identityKind, permissionKey, role } from './vocabulary.ts';

const digest = z.string().length(64);

/** A decision that a person is about to make, as the gateway received it. */
export const proposedDecision = z.strictObject({
  approvalId: id,
  /**
   * `statementDigest` of the permission gap and `requestDigestOf` of the request that the person
   * was shown.
   */
  gapDigest: digest,
  requestDigest: digest,
  /** `self`: the requester decides on its own call. */
  as: z.enum(['ancestor', 'self']),
  resolution: z.enum(['allow', 'allow_remember']),
  /** The rule patterns to remember; empty when the decision is for this call only. */
  patterns: z.array(permissionKey).max(20),
  cascade: z.boolean(),
  /**
   * Set when the person knows that the request was too large to be shown whole, and allows it
   * nevertheless.
   */
  acknowledge: z.literal('too_large').nullable(),
});
export type ProposedDecision = z.infer<typeof proposedDecision>;

/**
 * A person's statement that a suspended call may run. auth signs it (DECISION_KEY, Ed25519) for the
 * credential of the request; policy permits a replay and stores rules only with such a statement.
 */
export const decisionStatement = proposedDecision.extend({
  jti: id,
  orgId: id,
  deciderId: id,
  deciderKind: identityKind,
  role: role.nullable(),
  /** The OAuth client through which the decision came. */
  clientId: clientId.nullable(),
  /**
   * When the remembered rules end, in milliseconds since the epoch; null when they never end or
   * there are no rules.
   */
  expiresAt: z.int().nullable(),
  at: z.int(),
});
export type DecisionStatement = z.infer<typeof decisionStatement>;

export const signedDecision = z.string().min(20).max(131_072);
