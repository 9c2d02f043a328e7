import { z } from 'zod';

import { clientId } from './http/oauth-clients.ts';
import { id, identityKind, permissionKey, role } from './vocabulary.ts';

const digest = z.string().length(64);

/** What somebody is about to allow, as the gateway read it for them. */
export const proposedDecision = z.strictObject({
  approvalId: id,
  /** `statementDigest` of the gap and `requestDigestOf` of the request that were shown. */
  gapDigest: digest,
  requestDigest: digest,
  /** `self`: the requester decides for itself. */
  as: z.enum(['ancestor', 'self']),
  resolution: z.enum(['allow', 'allow_remember']),
  /** What to remember; empty for this call alone. */
  patterns: z.array(permissionKey).max(20),
  cascade: z.boolean(),
  /** That the request was too large to be shown whole, and is allowed nevertheless. */
  acknowledge: z.literal('too_large').nullable(),
});
export type ProposedDecision = z.infer<typeof proposedDecision>;

/**
 * Somebody's word that a suspended call may run. Signed by auth (DECISION_KEY, Ed25519) for the
 * credential that it came with; policy permits a replay and plants rules by nothing else.
 */
export const decisionStatement = proposedDecision.extend({
  jti: id,
  orgId: id,
  deciderId: id,
  deciderKind: identityKind,
  role: role.nullable(),
  /** The OAuth client that it came through. */
  clientId: clientId.nullable(),
  /** When the remembered rules end, milliseconds since the epoch; null: never, or none. */
  expiresAt: z.int().nullable(),
  at: z.int(),
});
export type DecisionStatement = z.infer<typeof decisionStatement>;

export const signedDecision = z.string().min(20).max(131_072);
