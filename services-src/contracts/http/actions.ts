import { z } from 'zod';

import { callResult, params, perCallSecret } from '../call.ts';
import { callFailure } from '../failure.ts';
import { riskLimits } from '../value-sets.ts';
import { httpMethod, id, json, nameReference, permissionKey, risk } from '../vocabulary.ts';
import { approvalResponse, keyExplanation, pendingReply } from './approvals.ts';
import { defineRoutes } from './define.ts';
import { nextRequest } from './next.ts';

/**
 * `POST /v1/actions/call`, in one of three shapes: `service, action, params`; `service, method,
 * path, …`; or only `approval_id` (docs/reference/calling.md#shapes). The gateway and not this
 * schema checks which fields go together, so that the error can name the field that does not fit.
 */
export const callBody = z.strictObject({
  service: z.string().max(67).optional(),
  action: z.string().max(128).optional(),
  params: z.union([params, z.string().max(1_048_576), z.null()]).optional(),
  method: httpMethod.optional(),
  path: z.string().max(8192).optional(),
  /** Alias of `path` for a call by full URL. */
  url: z.string().max(8192).optional(),
  query: z.record(z.string().max(200), z.union([z.string(), z.array(z.string())])).optional(),
  headers: z.record(z.string().max(200), z.string().max(8192)).optional(),
  body: json.optional(),
  secrets: z.array(perCallSecret).max(10).optional(),
  approval_id: id.optional(),
  filter: z.string().max(2000).optional(),
  verbose: z.boolean().optional(),
  timeout_ms: z.int().min(1).max(110_000).optional(),
  max_risk: z.enum(riskLimits).optional(),
});
export type CallBody = z.infer<typeof callBody>;

/**
 * `POST /v1/actions/http`: a call by HTTP method and full URL with the access token of a
 * connection. The URL must be on one of the connection's hosts.
 */
export const connectionCallBody = callBody
  .pick({
    query: true,
    headers: true,
    body: true,
    filter: true,
    verbose: true,
    timeout_ms: true,
    max_risk: true,
  })
  .extend({
    connection: nameReference,
    method: httpMethod,
    url: z.string().max(8192),
  });
export type ConnectionCallBody = z.infer<typeof connectionCallBody>;

export const calledReply = z.strictObject({
  status: z.literal('called'),
  result: callResult.partial({ headers: true }).extend({
    failure: callFailure.extend({ next: nextRequest.optional() }).optional(),
  }),
  action_description: z.string(),
  audit_id: id,
});

/**
 * The answer to a denied call, which is a result and not an error
 * (docs/reference/calling.md#answers).
 */
export const deniedReply = z.strictObject({
  status: z.literal('denied'),
  reason: z.string(),
  approval_id: id.optional(),
});

export const callReply = z.discriminatedUnion('status', [calledReply, deniedReply]);

export const validateBody = callBody.omit({ approval_id: true, verbose: true }).extend({
  as_identity_id: id.optional(),
  /** As in `POST /v1/actions/http`: goes with `method` and `url`, without `service`. */
  connection: nameReference.optional(),
});
export type ValidateBody = z.infer<typeof validateBody>;

/** What would happen to a call, and why (docs/reference/permissions.md#dry-runs). */
export const validateReply = z.strictObject({
  outcome: z.enum(['allowed', 'would_require_approval', 'denied']),
  /** The sentence that the caller of a denied call would read; absent for other outcomes. */
  reason: z.string().optional(),
  why: z.array(keyExplanation),
  permission_keys: z.array(permissionKey),
  uncovered_keys: z.array(permissionKey),
  grantors: z.array(z.strictObject({ id, kind: z.string(), name: z.string() })),
  risk,
  action_description: z.string(),
  /** The redacted request, as an approver would see it. */
  request: approvalResponse.shape.request,
});

/**
 * The endpoints behind a call: it is decided, then executed or suspended; a suspended call's
 * approval is read while the call waits.
 */
const callEndpoints = [
  'policy.decide',
  'executor.execute',
  'approvals.raise',
  'approvals.resume',
  'approvals.get',
] as const;
const callEvents = [
  'action.intent',
  'action.outcome',
  'action.denied',
  'action.refused',
  'approval.raised',
] as const;

export const actionRoutes = defineRoutes({
  callAction: {
    method: 'POST',
    path: '/v1/actions/call',
    summary: 'Call an action of a service, or raw HTTP; suspends when nothing permits it',
    tag: 'Actions',
    access: 'actions:call',
    body: callBody,
    responses: { 200: callReply, 202: pendingReply },
    serves: callEndpoints,
    audit: callEvents,
  },
  callConnection: {
    method: 'POST',
    path: '/v1/actions/http',
    summary: 'Call a URL with the access token of a connection; suspends when nothing permits it',
    tag: 'Actions',
    access: 'actions:call',
    body: connectionCallBody,
    responses: { 200: callReply, 202: pendingReply },
    serves: callEndpoints,
    audit: callEvents,
  },
  validateAction: {
    method: 'POST',
    path: '/v1/actions/validate',
    summary: 'What would happen to this call, and why; nothing is sent',
    tag: 'Actions',
    access: 'actions:read',
    body: validateBody,
    responses: { 200: validateReply },
    serves: 'policy.explain',
    audit: 'none',
  },
});
