import { z } from 'zod';

import {
  clientIdCharactersMax,
  id,
  identityReference,
  permissionKey,
  risk,
  timestamp,
} from './vocabulary.ts';

export const disclosedField = z.strictObject({
  label: z.string().max(100),
  value: z.string().max(10_240),
  truncated: z.boolean(),
  /** Set when the filter failed; the value is then empty. */
  error: z.string().max(300).optional(),
});
export type DisclosedField = z.infer<typeof disclosedField>;

/** Where a credential is put on the request, and whose it is. Its value is never shown. */
export const shownCredential = z.strictObject({
  kind: z.enum(['secret', 'connection']),
  /** As it stands in permission keys: `github_token` or `org/github_token`. */
  name: z.string().max(100),
  /** Of a connection: the account at the provider, as the provider names it. */
  account: z.string().max(300).optional(),
  in: z.enum(['header', 'query']),
  /** The header or query parameter that carries it. */
  key: z.string().max(200),
  /** What stands before the value, such as `Bearer `. */
  prefix: z.string().max(100).optional(),
});
export type ShownCredential = z.infer<typeof shownCredential>;

/** What a call sends beside its address and its body: of these no template discloses anything. */
export const auditedRequest = z.strictObject({
  /** By name in lower case, without what every request has; of credentials among them the name alone. */
  headers: z.record(z.string(), z.string()),
  content_type: z.string().max(8192).nullable(),
  credentials: z.array(shownCredential).max(10),
});
export type AuditedRequest = z.infer<typeof auditedRequest>;

/** What allowed a call: a rule, the read allowance, the user acting alone, an approval, or that the service `platform` needs none. */
export const decision = z.strictObject({
  by: z.enum(['rule', 'read', 'user', 'approval', 'platform']),
  /** The first of `allowed_by`. */
  rule_id: id.nullable(),
  approval_id: id.nullable(),
  /**
   * The rules that covered the call's permission keys, with their text as it was then: a rule can be
   * deleted afterwards. Absent when no rule was needed.
   */
  allowed_by: z
    .array(z.strictObject({ rule_id: id, pattern: permissionKey }))
    .max(20)
    .optional(),
});
export type Decision = z.infer<typeof decision>;

/**
 * How it ended. `started`: a call is about to leave. `refused`: a request that was answered with an
 * error before anything ran. `failed`: a call that was made, or tried, and got no answer.
 * `outcome_unknown`: it may have been made, and nobody can know.
 */
export const auditOutcome = z.enum([
  'started',
  'called',
  'pending_approval',
  'denied',
  'refused',
  'failed',
  'outcome_unknown',
]);
export type AuditOutcome = z.infer<typeof auditOutcome>;

/** Absent in what was written before the member was known. */
const added = <S extends z.ZodType>(schema: S) => schema.nullable().default(null);

/**
 * The part of an audit record that the component where it happened writes.
 * Travels inside the event; `audit` adds `id`, `seq`, `at` and the hash chain.
 */
export const auditEntry = z.strictObject({
  user_id: id.nullable(),
  identity: identityReference.nullable(),
  credential: z
    .strictObject({
      kind: z.string().max(40),
      id,
      client_id: z.string().max(clientIdCharactersMax).nullable(),
    })
    .nullable(),
  service: z.string().max(100).nullable(),
  template: z.string().max(100).nullable(),
  action: z.string().max(300).nullable(),
  permission_keys: z.array(permissionKey).max(50),
  risk: risk.nullable(),
  decision: decision.nullable(),
  outcome: auditOutcome.nullable(),
  /** The typed error code when the outcome is `refused`, `failed` or `outcome_unknown`. */
  error: z.string().max(60).nullable(),
  http_status: z.int().nullable(),
  duration_ms: z.number().nullable(),
  description: z.string().max(2000),
  disclosed: z.array(disclosedField).max(50),
  approval_id: id.nullable(),
  execution_id: id.nullable(),
  request_id: z.string().max(100).nullable(),
  trace_id: z.string().max(64).nullable(),
  ip: z.string().max(64).nullable(),
  /** The `audit_id` of the call: the same in every record of it. */
  call_id: added(id),
  /** SHA-256 of method, URL, headers and body as they left, without credentials; of calls that are no reads. */
  request_digest: added(z.string().length(64)),
  /** How many times the same was refused since the record before; null: once. */
  count: added(z.int().min(1)),
  /** Of approvals, and of calls by method and path. */
  request: added(auditedRequest),
});
export type AuditEntry = z.infer<typeof auditEntry>;

/** An entry with every field absent but the description: spread it and set what is known. */
export function blankAuditEntry(description: string): AuditEntry {
  return {
    user_id: null,
    identity: null,
    credential: null,
    service: null,
    template: null,
    action: null,
    permission_keys: [],
    risk: null,
    decision: null,
    outcome: null,
    error: null,
    http_status: null,
    duration_ms: null,
    description,
    disclosed: [],
    approval_id: null,
    execution_id: null,
    request_id: null,
    trace_id: null,
    ip: null,
    call_id: null,
    request_digest: null,
    count: null,
    request: null,
  };
}

const auditedBytesMax = 16 * 1024;
const auditedHeadersMax = 200;

/** The part of a shown request that stands in its audit row; many or long headers are cut. */
export function toAuditedRequest({
  headers,
  content_type,
  credentials,
}: AuditedRequest): AuditedRequest {
  if (JSON.stringify(headers).length <= auditedBytesMax) {
    return { headers, content_type, credentials };
  }
  const cut = Object.entries(headers)
    .slice(0, auditedHeadersMax)
    .map(([name, value]) => [name, value.length > 60 ? `${value.slice(0, 60)}…` : value]);
  return { headers: Object.fromEntries(cut), content_type, credentials };
}

/** `GET /v1/audit` row. */
export const auditRecord = auditEntry.extend({
  id,
  org_id: id,
  seq: z.int(),
  at: timestamp,
  type: z.string().max(60),
  prev_hash: z.string().length(64),
  hash: z.string().length(64),
});
export type AuditRecord = z.infer<typeof auditRecord>;
