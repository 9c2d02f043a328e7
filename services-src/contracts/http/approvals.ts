import { z } from 'zod';

import { disclosedField, shownCredential } from '../audit.ts';
import { callResult } from '../call.ts';
import { derivedKey, suggestedTier } from '../permit.ts';
import {
  id,
  identityKind,
  identityReference,
  json,
  pageSchemaOf,
  pageQuery,
  permissionKey,
  riskLevel,
  timestamp,
} from '../vocabulary.ts';
import { defineRoutes } from './define.ts';

export const approvalStatus = z.enum(['pending', 'bubbled', 'allowed', 'denied', 'expired']);
export type ApprovalStatus = z.infer<typeof approvalStatus>;

/** The record of a replay (docs/reference/approvals.md#execution). */
export const execution = z.strictObject({
  id,
  status: z.enum(['pending', 'executing', 'executed', 'failed', 'cancelled', 'expired']),
  runtime: z.enum(['http', 'mcp']),
  triggered_by: z.enum(['user', 'agent', 'auto']).nullable(),
  http_status_code: z.int().optional(),
  result: callResult.optional(),
  /** Set when `failed`: the typed error, as a call would have answered it. */
  error: z.strictObject({ error: z.string(), message: z.string() }).optional(),
  created_at: timestamp,
  started_at: timestamp.nullable(),
  finished_at: timestamp.nullable(),
  expires_at: timestamp,
});
export type Execution = z.infer<typeof execution>;

/** A value of a request that is too large to be shown whole. */
export const shortenedValue = z.strictObject({
  /** JSON pointer into the shown request, such as `/body/files/0/content`. */
  at: z.string(),
  /** Of the whole value: the UTF-8 bytes of a text, of anything else those of its JSON. */
  bytes: z.int(),
  sha256: z.string().length(64),
  /** Of a list or an object: how many entries it has, and how many of them are shown. */
  entries: z.int().optional(),
  shown: z.int().optional(),
});
export type ShortenedValue = z.infer<typeof shortenedValue>;

/**
 * Everything that will leave, except the values of credentials and what the template redacts. One
 * that would be over 100 KiB is an outline: `shortened` lists the values of which only the
 * beginning is shown, and everything else is whole.
 */
export const shownRequest = z.strictObject({
  /** Of a call to an MCP server `tools/call`. */
  method: z.string(),
  url: z.string(),
  params: json,
  /** By name in lower case. Not among them: what every request has, `content-type`, and what credentials replace. */
  headers: z.record(z.string(), z.string()),
  /** As it is sent; null without a body. */
  content_type: z.string().nullable(),
  /** As it is sent: of a form its text, of a multipart form the list of its parts. */
  body: json,
  credentials: z.array(shownCredential).max(10),
  /**
   * Where `[REDACTED]` stands for something else, as JSON pointers into this request, `*` for every entry
   * of a list or an object; in a form by the names of its fields, in a URL by those of its query. Anywhere
   * else it is what the caller wrote. Absent in approvals of earlier versions.
   */
  redacted: z.array(z.string()).optional(),
  /** To allow it needs `acknowledge: "too_large"`. */
  too_large: z.literal(true).optional(),
  shortened: z.array(shortenedValue).optional(),
});
export type ShownRequest = z.infer<typeof shownRequest>;

/** An approval as its viewer reads it (docs/reference/approvals.md#the-card). */
export const approvalResponse = z.strictObject({
  id,
  status: approvalStatus,
  relationship: z.enum(['self', 'downstream', 'not_in_your_chain']),
  risk: riskLevel,
  permission_keys: z.array(permissionKey),
  suggested_tiers: z.array(suggestedTier),
  derived_keys: z.array(derivedKey),
  expires_at: timestamp,
  execution: execution.optional(),
  requester: identityReference,
  resolver_id: id,
  may_resolve: z.array(id),
  placement: z.strictObject({ id, kind: identityKind, name: z.string() }),
  service: z.string(),
  template: z.string().nullable(),
  action: z.string(),
  action_description: z.string(),
  request: shownRequest,
  disclosed: z.array(disclosedField),
  reason: z.string().nullable(),
  created_at: timestamp,
  resolved_at: timestamp.nullable(),
  resolved_by: identityReference.nullable(),
  resolution: z.enum(['allow', 'allow_remember', 'deny']).nullable(),
  auto_call_on_approve: z.boolean(),
  /**
   * Whether what is shown here is what the executor saw of the call when it was suspended. If not,
   * it can be denied and not allowed.
   */
  verified: z.boolean(),
  /**
   * Why it is not `verified`: what is stored is not what was suspended, or an earlier version
   * suspended it, which recorded nothing to check it by, and neither headers nor credentials.
   */
  unverified: z.enum(['changed', 'earlier_version']).optional(),
  cascaded_approval_ids: z.array(id).optional(),
});
export type ApprovalResponse = z.infer<typeof approvalResponse>;

/** The answer to a call that is suspended (docs/reference/calling.md#answers). */
export const pendingApproval = z.strictObject({
  status: z.literal('pending_approval'),
  approval_id: id,
  approval_url: z.url(),
  action_description: z.string(),
  expires_at: timestamp,
  relationship: z.enum(['self', 'downstream']),
  suggested_tiers: z.array(suggestedTier),
  auto_call_on_approve: z.boolean(),
  risk: riskLevel,
  permission_keys: z.array(permissionKey),
});
export type PendingApproval = z.infer<typeof pendingApproval>;

export const resolveApprovalBody = z.strictObject({
  resolution: z.enum(['allow', 'allow_once', 'allow_remember', 'allow_always', 'deny', 'bubble']),
  remember_keys: z.array(permissionKey).min(1).max(20).optional(),
  /** `<n>(s|m|h|d)`, combinable, 1 minute to 365 days. */
  ttl: z.string().max(40).optional(),
  reason: z.string().max(500).optional(),
  cascade: z.boolean().optional(),
  /** That the request is too large to be shown whole is known; without it, such a one is not allowed. */
  acknowledge: z.literal('too_large').optional(),
});
export type ResolveApprovalBody = z.infer<typeof resolveApprovalBody>;

export const approvalsQuery = pageQuery.extend({
  /** `open` is pending and bubbled together. */
  status: z.enum(['open', ...approvalStatus.options]).optional(),
  requester: id.optional(),
  assigned: z.literal('me').optional(),
  service: z.string().max(67).optional(),
});

const byId = z.strictObject({ id });

export const approvalRoutes = defineRoutes({
  listApprovals: {
    method: 'GET',
    path: '/v1/approvals',
    summary: 'Approvals the caller may see, newest first',
    tag: 'Approvals',
    access: 'approvals',
    query: approvalsQuery,
    responses: { 200: pageSchemaOf(approvalResponse) },
    errors: [],
    audit: 'none',
  },
  getApproval: {
    method: 'GET',
    path: '/v1/approvals/{id}',
    summary: 'State, gated action and requester of an approval',
    tag: 'Approvals',
    access: 'approvals',
    params: byId,
    responses: { 200: approvalResponse },
    errors: ['not_found', 'not_in_your_chain'],
    audit: 'none',
  },
  resolveApproval: {
    method: 'POST',
    path: '/v1/approvals/{id}/resolve',
    summary: 'Decide an approval: allow, allow_remember, deny or bubble',
    tag: 'Approvals',
    access: 'approvals',
    params: byId,
    body: resolveApprovalBody,
    responses: { 200: approvalResponse },
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
      'card_not_verified',
      'invalid_params',
      'expired',
    ],
    audit: ['approval.resolved'],
  },
  cancelApproval: {
    method: 'POST',
    path: '/v1/approvals/{id}/cancel',
    summary: 'Withdraw an open approval, or stop an allowed call that has not run',
    tag: 'Approvals',
    access: 'approvals',
    params: byId,
    responses: { 200: approvalResponse },
    errors: ['not_found', 'not_in_your_chain', 'already_resolved'],
    audit: ['approval.resolved', 'execution.finished'],
  },
  callApproval: {
    method: 'POST',
    path: '/v1/approvals/{id}/call',
    summary: 'Run an allowed call that has not run yet',
    tag: 'Approvals',
    access: 'approvals',
    params: byId,
    responses: { 200: approvalResponse },
    errors: [
      'not_found',
      'not_in_your_chain',
      'approval_stale',
      'execution_in_progress',
      'expired',
      'conflict',
    ],
    audit: ['execution.finished'],
  },
});
