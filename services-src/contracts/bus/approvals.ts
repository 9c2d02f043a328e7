import { z } from 'zod';

import { call, callOptions, callResult } from '../call.ts';
import { cardProof } from '../card.ts';
import { signedDecision } from '../decision.ts';
import { defineContract } from '../define.ts';
import {
  approvalResponse,
  approvalStatus,
  pendingApproval,
  resolveApprovalBody,
} from '../http/approvals.ts';
import { signedGap } from '../permit.ts';
import { callContext, id, pageSchemaOf, pageRequest, signedPrincipal } from '../vocabulary.ts';

const done = z.strictObject({});
const byId = z.strictObject({ principal: signedPrincipal, id });

/**
 * An approval as approvals stores it. Whether its card holds is for the component to say that
 * shows it. The proof is null in approvals of earlier versions.
 */
const storedApproval = approvalResponse
  .omit({ verified: true, unverified: true })
  .extend({ proof: cardProof.nullable() });

/** What a call with a gap, or a resume by `approval_id`, is answered with. */
const callState = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('pending'), envelope: pendingApproval }),
  z.strictObject({ kind: z.literal('denied'), reason: z.string(), approvalId: id }),
  z.strictObject({
    kind: z.literal('called'),
    result: callResult,
    description: z.string(),
    auditId: id,
  }),
]);

/** Suspension: the approval and execution state machines, their clocks and the replay. */
export const approvals = defineContract('approvals', {
  /** Raises an approval for a signed gap, or answers with the open or decided one of the identical call. */
  raise: {
    request: z.strictObject({
      principal: signedPrincipal,
      gap: signedGap,
      call,
      options: callOptions,
      context: callContext,
    }),
    response: callState,
    errors: [
      'unauthenticated',
      'too_many_open_approvals',
      'rate_limited',
      'invalid_params',
      'filter_invalid',
      'idempotency_key_reused',
      'execution_in_progress',
      'outcome_unknown',
      'too_large',
      'upstream_refused_address',
      'expired',
    ],
    callers: ['gateway'],
    timeoutMs: 15_000,
  },
  /**
   * `approval_id` alone: the envelope again, the denial, the stored result, or the run of an allowed
   * call (docs/reference/approvals.md#resuming).
   */
  resume: {
    request: z.strictObject({ principal: signedPrincipal, id, context: callContext }),
    response: callState,
    errors: [
      'unauthenticated',
      'not_found',
      'not_in_your_chain',
      'expired',
      'execution_in_progress',
      // How the replay ended, as the call itself would have answered it.
      'approval_stale',
      'identity_archived',
      'unknown_service',
      'action_disabled',
      'credential_missing',
      'host_not_allowed',
      'invalid_params',
      'conflict',
      'upstream_unreachable',
      'upstream_refused_address',
      'upstream_incomplete',
      'upstream_timeout',
      'response_too_large',
      'outcome_unknown',
      'unavailable',
    ],
    callers: ['gateway'],
    timeoutMs: 120_000,
  },
  get: {
    request: byId,
    response: storedApproval,
    errors: ['not_found', 'not_in_your_chain'],
    callers: ['gateway'],
    timeoutMs: 2_000,
  },
  list: {
    request: z.strictObject({
      principal: signedPrincipal,
      page: pageRequest,
      status: z.enum(['open', ...approvalStatus.options]).nullable(),
      requesterId: id.nullable(),
      assignedToMe: z.boolean(),
      service: z.string().max(67).nullable(),
    }),
    response: pageSchemaOf(storedApproval),
    errors: [],
    callers: ['gateway', 'executor'],
    timeoutMs: 3_000,
  },
  resolve: {
    request: byId.extend({
      /** `self`: by `service_approve_self`, the only way in which a requester decides for itself. */
      as: z.enum(['ancestor', 'self']),
      body: resolveApprovalBody,
      /** For an `allow`, by the credential of the same request. */
      decision: signedDecision.nullable(),
      context: callContext,
    }),
    response: storedApproval,
    errors: [
      'not_found',
      'not_in_your_chain',
      'exceeds_authority',
      'self_approval_disabled',
      'identity_archived',
      'already_resolved',
      'already_at_top',
      'remember_keys_not_offered',
      'acknowledgement_required',
      'invalid_params',
      'expired',
      'unauthenticated',
      'approval_stale',
      'card_not_verified',
    ],
    callers: ['gateway'],
    timeoutMs: 5_000,
  },
  cancel: {
    request: byId.extend({ context: callContext }),
    response: storedApproval,
    errors: ['not_found', 'not_in_your_chain', 'already_resolved'],
    callers: ['gateway', 'executor'],
    timeoutMs: 3_000,
  },
  /** `POST /v1/approvals/{id}/call`: an ancestor runs an allowed call that has not run; answers with its end state. */
  run: {
    request: byId.extend({ context: callContext }),
    response: storedApproval,
    errors: [
      'not_found',
      'not_in_your_chain',
      'approval_stale',
      'execution_in_progress',
      'expired',
      'conflict',
    ],
    callers: ['gateway'],
    timeoutMs: 120_000,
  },
  ping: {
    request: done,
    response: done,
    errors: [],
    callers: ['gateway'],
    timeoutMs: 1_000,
  },
});
