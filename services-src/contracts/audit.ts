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

/** What allowed a call: a rule, the read allowance, the user acting alone, an approval, or that the service `platform` needs none. */
export const decision = z.strictObject({
  by: z.enum(['rule', 'read', 'user', 'approval', 'platform']),
  rule_id: id.nullable(),
  approval_id: id.nullable(),
});
export type Decision = z.infer<typeof decision>;

/**
 * The part of an audit record that the component where it happened writes (decisions: Audit).
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
  outcome: z.enum(['started', 'called', 'pending_approval', 'denied', 'failed']).nullable(),
  /** The typed error code when the outcome is `failed`. */
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
  };
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
