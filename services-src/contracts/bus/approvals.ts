import { z } from 'zod';

import { call, callOptions, callResult } from '../call.ts';
import { cardProof, serviceTitle } from '../card.ts';
import { narrowing } from '../critical.ts';
import { signedDecision } from '../decision.ts';
import { defineContract } from '../define.ts';
import { outboxPing } from '../events.ts';
import {
  approvalResponse,
  approvalStatus,
  explainedApproval,
  pendingApproval,
  resolveApprovalBody,
} from '../http/approvals.ts';
import { signedGap } from '../permit.ts';
import {
  callContext,
  id,
  pageSchemaOf,
  pageRequest,
  risk,
  signedPrincipal,
} from '../vocabulary.ts';

const emptyReply = z.strictObject({});
const requestById = z.strictObject({ principal: signedPrincipal, id });

/**
 * An approval as the component approvals stores it. The gateway checks whether the approval card is
 * genuine before it shows it. The proof is null in approvals of earlier versions.
 */
const storedApproval = approvalResponse
  .omit({ verified: true, unverified: true })
  .extend({ proof: cardProof.nullable(), title_mac: serviceTitle.shape.mac.optional() });

/** The answer to a call that no rule allows, or to a resume by `approval_id`. */
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

/**
 * Suspended calls: the state machines of approvals and executions, their time limits and the
 * replay.
 */
export const approvals = defineContract('approvals', {
  /**
   * Creates an approval for a signed permission gap. If an identical call already has an open or
   * decided approval, answers with that approval.
   */
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
    repeatable: false,
  },
  /**
   * Continues a call, given only its `approval_id`. Answers with the pending answer again, with the
   * denial or with the stored result, or runs an allowed call
   * (docs/reference/approvals.md#resuming).
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
      // The errors of the replay, as the original call would have reported them.
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
    repeatable: false,
  },
  get: {
    request: requestById,
    response: storedApproval,
    errors: ['not_found', 'not_in_your_chain'],
    callers: ['gateway'],
    timeoutMs: 2_000,
    repeatable: true,
  },
  /**
   * What the current rules say about the call of an approval. Throws `already_resolved` when the
   * call has ended, because its data is erased then.
   */
  explain: {
    request: requestById,
    response: explainedApproval,
    errors: [
      'not_found',
      'not_in_your_chain',
      'already_resolved',
      'identity_archived',
      'invalid_params',
    ],
    callers: ['gateway'],
    timeoutMs: 4_000,
    repeatable: true,
  },
  list: {
    request: z.strictObject({
      principal: signedPrincipal,
      page: pageRequest,
      status: z.enum(['open', ...approvalStatus.options]).nullable(),
      requesterId: id.nullable(),
      assignedToMe: z.boolean(),
      service: z.string().max(67).nullable(),
      /**
       * Further filters and the order of the list. A component of an earlier release would ignore
       * them.
       */
      further: narrowing(
        z.strictObject({
          /** Only approvals that are not open. */
          isDecided: z.boolean(),
          /**
           * The searchable text of the approval must contain each of these texts, in any letter
           * case.
           */
          words: z.array(z.string().min(1).max(200)).max(10),
          risk: risk.nullable(),
          isOldestFirst: z.boolean(),
        }),
      ).optional(),
    }),
    response: pageSchemaOf(storedApproval),
    errors: [],
    callers: ['gateway', 'executor'],
    timeoutMs: 3_000,
    repeatable: true,
  },
  resolve: {
    request: requestById.extend({
      /**
       * `self`: through `service_approve_self`, the only way in which a requester can decide on its
       * own call.
       */
      as: z.enum(['ancestor', 'self']),
      body: resolveApprovalBody,
      /** Required for `allow`. auth signs the decision for the credential of this request. */
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
    repeatable: false,
  },
  cancel: {
    request: requestById.extend({ context: callContext }),
    response: storedApproval,
    errors: ['not_found', 'not_in_your_chain', 'already_resolved'],
    callers: ['gateway', 'executor'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  /**
   * `POST /v1/approvals/{id}/call`: an ancestor runs an allowed call that has not run yet; answers
   * with the state in which the call ended.
   */
  run: {
    request: requestById.extend({ context: callContext }),
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
    repeatable: false,
  },
  ping: {
    request: emptyReply,
    response: outboxPing,
    errors: [],
    callers: ['gateway'],
    timeoutMs: 1_000,
    repeatable: false,
  },
});
