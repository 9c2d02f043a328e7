import { z } from 'zod';

import { approvalStatuses } from '../approval-status.ts';
import { disclosedField, shownCredential } from '../audit.ts';
import { callResult } from '../call.ts';
import {
  decisionWordNames,
  decisionWords,
  fieldsOfWords,
  fieldNeedOf,
  joinWithOr,
  listWordsThatTake,
} from '../decision-words.ts';
import { derivedKey, suggestedTier } from '../permit.ts';
import { approvalFilters } from '../value-sets.ts';
import {
  id,
  identityKind,
  shownIdentity,
  json,
  pageSchemaOf,
  pageQuery,
  permissionKey,
  riskLevel,
  timestamp,
} from '../vocabulary.ts';
import { defineRoutes } from './define.ts';
import { nextRequest } from './next.ts';

export const approvalStatus = z.enum(approvalStatuses);

/** The record of a replay (docs/reference/approvals.md#execution). */
export const execution = z.strictObject({
  id,
  status: z.enum(['pending', 'executing', 'executed', 'failed', 'cancelled', 'expired']),
  runtime: z.enum(['http', 'mcp']),
  triggered_by: z.enum(['user', 'agent', 'auto']).nullable(),
  http_status_code: z.int().optional(),
  result: callResult.optional(),
  /** Set when the status is `failed`: the error as a call would have answered it. */
  error: z.strictObject({ error: z.string(), message: z.string() }).optional(),
  created_at: timestamp,
  started_at: timestamp.nullable(),
  finished_at: timestamp.nullable(),
  expires_at: timestamp,
});
export type Execution = z.infer<typeof execution>;

/** A value that is too large: the approval shows only its beginning. */
export const shortenedValue = z.strictObject({
  /** JSON pointer into the shown request, such as `/body/files/0/content`. */
  at: z.string(),
  /** The size of the whole value: for a text its UTF-8 bytes, otherwise the bytes of its JSON. */
  bytes: z.int(),
  sha256: z.string().length(64),
  /** For a list or an object: how many entries it has, and how many of them are shown. */
  entries: z.int().optional(),
  shown: z.int().optional(),
});
export type ShortenedValue = z.infer<typeof shortenedValue>;

/**
 * The request as an approver sees it: everything that will be sent, except the values of
 * credentials and the fields that the template redacts. A request over 100 KiB becomes an outline:
 * `shortened` lists the values of which only the beginning is shown, and everything else is whole.
 */
export const shownRequest = z.strictObject({
  /** The HTTP method; `tools/call` for a call to an MCP server. */
  method: z.string(),
  url: z.string(),
  params: json,
  /**
   * Header names are in lower case. Left out: headers that every request has, `content-type`, and
   * headers that credentials replace.
   */
  headers: z.record(z.string(), z.string()),
  /** The content type that is sent; null without a body. */
  content_type: z.string().nullable(),
  /**
   * The body that is sent. For a form it is the form's text, for a multipart form the list of its
   * parts.
   */
  body: json,
  credentials: z.array(shownCredential).max(10),
  /**
   * The places where `[REDACTED]` replaces a value, as JSON pointers into this request, with `*`
   * for every entry of a list or an object; forms are addressed by field name, URLs by query name.
   * In any other place, `[REDACTED]` is text that the caller wrote. Absent in approvals of earlier
   * versions.
   */
  redacted: z.array(z.string()).optional(),
  /** Allowing the request needs `acknowledge: "too_large"`. */
  too_large: z.literal(true).optional(),
  shortened: z.array(shortenedValue).optional(),
});
export type ShownRequest = z.infer<typeof shownRequest>;

/** An approval as a person or agent reads it (docs/reference/approvals.md#the-card). */
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
  requester: shownIdentity,
  resolver_id: id,
  may_resolve: z.array(id),
  placement: z.strictObject({ id, kind: identityKind, name: z.string() }),
  service: z.string(),
  /**
   * The title of the service's template, such as `GitHub`. Absent for templates of a single user,
   * whose titles are not verified, for calls by full URL, and in approvals of earlier versions.
   */
  service_title: z.string().max(200).optional(),
  template: z.string().nullable(),
  action: z.string(),
  action_description: z.string(),
  request: shownRequest,
  disclosed: z.array(disclosedField),
  reason: z.string().nullable(),
  created_at: timestamp,
  resolved_at: timestamp.nullable(),
  resolved_by: shownIdentity.nullable(),
  resolution: z.enum(['allow', 'allow_remember', 'deny']).nullable(),
  auto_call_on_approve: z.boolean(),
  /**
   * Whether the approval shows what the executor saw when the call was suspended. If it does not,
   * the approval can be denied but not allowed.
   */
  verified: z.boolean(),
  /**
   * Why it is not `verified`. `changed`: the stored approval differs from the call that was
   * suspended. `earlier_version`: the version that suspended the call recorded no proof, no headers
   * and no credentials.
   */
  unverified: z.enum(['changed', 'earlier_version']).optional(),
  cascaded_approval_ids: z.array(id).optional(),
});
export type ApprovalResponse = z.infer<typeof approvalResponse>;

/**
 * The outcome of the permission walk for one permission key of a call, and the rule or allowance
 * that caused it.
 */
export const keyExplanation = z.strictObject({
  key: permissionKey,
  /** `gap` means that nothing allows the key. */
  effect: z.enum(['allow', 'deny', 'gap']),
  rule_id: id.optional(),
  /** The identity that the rule is on; absent for a rule on the whole org. */
  identity_id: id.optional(),
  by: z.enum(['rule', 'read', 'user', 'platform']).optional(),
});
export type KeyExplanation = z.infer<typeof keyExplanation>;

/**
 * What the current rules say about the call of an approval
 * (docs/reference/approvals.md#why-it-is-asked).
 */
export const explainedApproval = z.strictObject({ why: z.array(keyExplanation).max(20) });
export type ExplainedApproval = z.infer<typeof explainedApproval>;

/**
 * The pending answer: the answer to a call that is suspended (docs/reference/calling.md#answers).
 */
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

/** The pending answer as REST clients get it, with what to send next and when. */
export const pendingReply = pendingApproval.extend({
  poll_after_ms: z.int().min(0),
  next: nextRequest,
});

const decisionWordMeanings = decisionWordNames.map(
  (word) => `${word}: ${decisionWords[word].says}.`,
);

export const resolveApprovalBody = z.strictObject({
  resolution: z.enum(decisionWordNames).describe(decisionWordMeanings.join(' ')),
  remember_keys: z
    .array(permissionKey)
    .min(1)
    .max(20)
    .optional()
    .describe(
      `With ${listWordsThatTake('remember_keys')}: the keys of one of the approval's suggested_tiers, or some of them. Default: the narrowest tier.`,
    ),
  ttl: z
    .string()
    .max(40)
    .optional()
    .describe(
      `With ${listWordsThatTake('ttl')}: how long to remember, such as "24h" or "1d12h", 1 minute to 365 days.`,
    ),
  reason: z
    .string()
    .max(500)
    .optional()
    .describe('Shown to the requester of the call, above all when it is denied.'),
  cascade: z
    .boolean()
    .optional()
    .describe(
      'When the decision is remembered: false leaves other open approvals that the new rule covers undecided. Default true.',
    ),
  acknowledge: z
    .literal('too_large')
    .optional()
    .describe(
      'Needed to allow a request that is marked too_large: you have looked at its outline, and accept that it is not shown whole.',
    ),
});
export type ResolveApprovalBody = z.infer<typeof resolveApprovalBody>;

interface FieldFault {
  readonly message: string;
  readonly issues: readonly { path: string; message: string; expected?: string }[];
}

/**
 * The fields of a decision that its word does not accept, and the fields that the word requires and
 * the decision lacks; undefined when there are none.
 */
export function findFieldFault(
  body: ResolveApprovalBody,
  { isOverMcp }: { isOverMcp: boolean },
): FieldFault | undefined {
  const { resolution } = body;
  const issues = fieldsOfWords.flatMap((path) => {
    const need = fieldNeedOf(resolution, path);
    if (body[path] !== undefined) {
      const message = `goes with ${listWordsThatTake(path)}, not with ${resolution}`;
      return need === undefined ? [{ path, message }] : [];
    }
    const isNeeded = need === 'required' || (isOverMcp && need === 'required over MCP');
    const expected = resolveApprovalBody.shape[path].description ?? '';
    return isNeeded ? [{ path, message: `is required with ${resolution}`, expected }] : [];
  });
  if (issues.length === 0) return undefined;
  const sentences = issues.map(({ path, message }) => `${path} ${message}.`);
  return { message: sentences.join(' '), issues };
}

export const approvalsQuery = pageQuery.extend({
  status: z.enum(approvalFilters).optional(),
  /**
   * Words, all of which must occur in the sentence, the service (name or title), the action or the
   * names of the requester and its ancestors. Letter case makes no difference.
   */
  q: z
    .string()
    .max(200)
    .regex(/^[^\0]*$/)
    .optional(),
  risk: riskLevel.optional(),
  /** Default `newest`. A cursor is only valid for the order in which its page was read. */
  sort: z.enum(['newest', 'oldest']).optional(),
  requester: id.optional(),
  assigned: z.literal('me').optional(),
  service: z.string().max(67).optional(),
});

const idParams = z.strictObject({ id });

export const approvalRoutes = defineRoutes({
  listApprovals: {
    method: 'GET',
    path: '/v1/approvals',
    summary:
      'Approvals the caller may see, newest first unless `sort` says otherwise; decided ones by when they were decided',
    tag: 'Approvals',
    access: 'approvals',
    query: approvalsQuery,
    responses: { 200: pageSchemaOf(approvalResponse) },
    serves: ['approvals.list', 'auth.listDisplayNames'],
    audit: 'none',
  },
  getApproval: {
    method: 'GET',
    path: '/v1/approvals/{id}',
    summary: 'State, gated action and requester of an approval',
    tag: 'Approvals',
    access: 'approvals',
    params: idParams,
    responses: { 200: approvalResponse },
    serves: ['approvals.get', 'auth.listDisplayNames'],
    audit: 'none',
  },
  explainApproval: {
    method: 'GET',
    path: '/v1/approvals/{id}/explain',
    summary: 'What the rules of now say about the call of an approval, key by key',
    tag: 'Approvals',
    access: 'approvals',
    params: idParams,
    responses: { 200: explainedApproval },
    serves: 'approvals.explain',
    audit: 'none',
  },
  resolveApproval: {
    method: 'POST',
    path: '/v1/approvals/{id}/resolve',
    summary: `Decide an approval: ${joinWithOr(decisionWordNames)}`,
    tag: 'Approvals',
    access: 'approvals',
    params: idParams,
    body: resolveApprovalBody,
    responses: { 200: approvalResponse },
    serves: ['approvals.get', 'auth.signDecision', 'approvals.resolve', 'auth.listDisplayNames'],
    audit: [...new Set(decisionWordNames.flatMap((word) => decisionWords[word].events))],
  },
  cancelApproval: {
    method: 'POST',
    path: '/v1/approvals/{id}/cancel',
    summary: 'Withdraw an open approval, or stop an allowed call that has not run',
    tag: 'Approvals',
    access: 'approvals',
    params: idParams,
    responses: { 200: approvalResponse },
    serves: ['approvals.cancel', 'auth.listDisplayNames'],
    audit: ['approval.resolved', 'execution.finished'],
  },
  callApproval: {
    method: 'POST',
    path: '/v1/approvals/{id}/call',
    summary: 'Run an allowed call that has not run yet',
    tag: 'Approvals',
    access: 'approvals',
    params: idParams,
    responses: { 200: approvalResponse },
    serves: ['approvals.run', 'auth.listDisplayNames'],
    audit: ['execution.finished'],
  },
});
