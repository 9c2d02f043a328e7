/**
 * The closed list of failures that components report on purpose.
 *
 * The code is the interface: callers branch on it, clients see it in the `error` field, and
 * renaming one is a breaking change. The message is for people and may change at any time.
 * `retryable` says that nothing was sent upstream and that the call may be made again.
 */
export const errorCodes = {
  invalid_request: { httpStatus: 400, retryable: false },
  invalid_params: { httpStatus: 400, retryable: false },
  filter_invalid: { httpStatus: 400, retryable: false },
  unauthenticated: { httpStatus: 401, retryable: false },
  forbidden: { httpStatus: 403, retryable: false },
  not_in_your_chain: { httpStatus: 403, retryable: false },
  exceeds_authority: { httpStatus: 403, retryable: false },
  self_approval_disabled: { httpStatus: 403, retryable: false },
  insufficient_scope: { httpStatus: 403, retryable: false },
  missing_scopes: { httpStatus: 403, retryable: false },
  risk_exceeded: { httpStatus: 403, retryable: false },
  identity_archived: { httpStatus: 403, retryable: false },
  host_not_allowed: { httpStatus: 403, retryable: false },
  not_found: { httpStatus: 404, retryable: false },
  unknown_service: { httpStatus: 404, retryable: false },
  unknown_action: { httpStatus: 404, retryable: false },
  action_disabled: { httpStatus: 404, retryable: false },
  conflict: { httpStatus: 409, retryable: false },
  already_resolved: { httpStatus: 409, retryable: false },
  already_at_top: { httpStatus: 409, retryable: false },
  approval_stale: { httpStatus: 409, retryable: false },
  idempotency_key_reused: { httpStatus: 409, retryable: false },
  execution_in_progress: { httpStatus: 409, retryable: true },
  expired: { httpStatus: 410, retryable: false },
  too_large: { httpStatus: 413, retryable: false },
  unsupported_media_type: { httpStatus: 415, retryable: false },
  template_invalid: { httpStatus: 422, retryable: false },
  remember_keys_not_offered: { httpStatus: 422, retryable: false },
  card_not_verified: { httpStatus: 409, retryable: false },
  acknowledgement_required: { httpStatus: 422, retryable: false },
  needs_authentication: { httpStatus: 424, retryable: false },
  reauth_required: { httpStatus: 424, retryable: false },
  credential_missing: { httpStatus: 424, retryable: false },
  rate_limited: { httpStatus: 429, retryable: true },
  too_many_open_approvals: { httpStatus: 429, retryable: true },
  internal: { httpStatus: 500, retryable: false },
  upstream_unreachable: { httpStatus: 502, retryable: true },
  upstream_refused_address: { httpStatus: 502, retryable: false },
  upstream_incomplete: { httpStatus: 502, retryable: true },
  response_too_large: { httpStatus: 502, retryable: false },
  unavailable: { httpStatus: 503, retryable: true },
  upstream_timeout: { httpStatus: 504, retryable: true },
  outcome_unknown: { httpStatus: 504, retryable: false },
} as const satisfies Record<string, { httpStatus: number; retryable: boolean }>;

export type ErrorCode = keyof typeof errorCodes;

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(errorCodes, value);
}
