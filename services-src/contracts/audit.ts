import { z } from 'zod';

import { auditOutcomes } from './value-sets.ts';
import {
  clientIdCharactersMax,
  credentialPlace,
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
  /** Set when the template's disclosure filter failed; the value is then empty. */
  error: z.string().max(300).optional(),
});
export type DisclosedField = z.infer<typeof disclosedField>;

/**
 * A credential of a request as people see it: its name and where it is put. Its value is never
 * shown.
 */
export const shownCredential = z.strictObject({
  kind: z.enum(['secret', 'connection']),
  /** The name as in permission keys: `github_token` or `org/github_token`. */
  name: z.string().max(100),
  /** For a connection: the account at the provider, as the provider names it. */
  account: z.string().max(300).optional(),
  in: credentialPlace,
  /** The header or query parameter that carries the credential. */
  key: z.string().max(200),
  /** The text before the value, such as `Bearer `. */
  prefix: z.string().max(100).optional(),
});
export type ShownCredential = z.infer<typeof shownCredential>;

/**
 * The headers and content type that a call sends. The fields that templates disclose contain
 * neither, so they are recorded here.
 */
export const auditedRequest = z.strictObject({
  /**
   * Header names are in lower case. Headers that every request has are left out; a credential
   * appears by its name only.
   */
  headers: z.record(z.string(), z.string()),
  content_type: z.string().max(8192).nullable(),
  credentials: z.array(shownCredential).max(10),
});
export type AuditedRequest = z.infer<typeof auditedRequest>;

/**
 * What allowed a call: a rule, the read allowance, the user acting alone, an approval, or the
 * service `platform`, whose calls need no rule.
 */
export const decision = z.strictObject({
  by: z.enum(['rule', 'read', 'user', 'approval', 'platform']),
  /** The first rule in `allowed_by`. */
  rule_id: id.nullable(),
  approval_id: id.nullable(),
  /**
   * The rules that covered the call's permission keys, with their text at the time of the call: a
   * rule can be deleted afterwards. Absent when no rule was needed.
   */
  allowed_by: z
    .array(z.strictObject({ rule_id: id, pattern: permissionKey }))
    .max(20)
    .optional(),
});
export type Decision = z.infer<typeof decision>;

export const auditOutcome = z.enum(auditOutcomes);
export type AuditOutcome = z.infer<typeof auditOutcome>;

/** The schema of a member that older records do not have; it reads as null in them. */
const addedField = <S extends z.ZodType>(schema: S) => schema.nullable().default(null);

/**
 * The part of an audit record that is written by the component in which the event happened. It is
 * sent inside the event; the component `audit` adds `id`, `seq`, `at` and the hash chain.
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
  /** The `audit_id` of the call, which all records of one call share. */
  call_id: addedField(id),
  /**
   * SHA-256 of method, URL, headers and body as they were sent, without credentials. Null for
   * reads.
   */
  request_digest: addedField(z.string().length(64)),
  /** How many times this refusal happened since the previous record of it; null means once. */
  count: addedField(z.int().min(1)),
  /** Set for approvals, and for calls by method and path. */
  request: addedField(auditedRequest),
  /**
   * Why the provider did not do what was asked, for calls with the outcome `called`: the `kind` of
   * `result.failure`. The provider's words are not recorded, because they may hold personal data. A
   * later release may add kinds.
   */
  failure: addedField(z.string().max(40)),
});
export type AuditEntry = z.infer<typeof auditEntry>;

/**
 * An audit entry whose fields are all absent except the description: spread it and set the fields
 * that are known.
 */
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
    failure: null,
  };
}

const auditedBytesMax = 16 * 1024;
const auditedHeadersMax = 200;

/** The part of a shown request that its audit row keeps; many or long headers are cut. */
export function toAuditedRequest({
  headers,
  content_type,
  credentials,
}: AuditedRequest): AuditedRequest {
  if (JSON.stringify(headers).length <= auditedBytesMax) {
    return { headers, content_type, credentials };
  }
  const shortenedHeaders = Object.entries(headers)
    .slice(0, auditedHeadersMax)
    .map(([name, value]) => [name, value.length > 60 ? `${value.slice(0, 60)}…` : value]);
  return { headers: Object.fromEntries(shortenedHeaders), content_type, credentials };
}

/** One row of `GET /v1/audit`. */
export const auditRecord = auditEntry.extend({
  id,
  org_id: id,
  seq: z.int(),
  at: timestamp,
  type: z.string().max(60),
  /**
   * The members of the record that the release which recorded this row did not know, as JSON by
   * their paths; null when there were none.
   */
  unread: addedField(z.string().max(16_384)),
  prev_hash: z.string().length(64),
  hash: z.string().length(64),
});
export type AuditRecord = z.infer<typeof auditRecord>;
