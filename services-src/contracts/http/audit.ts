import { z } from 'zod';

import { auditOutcome, auditRecord } from '../audit.ts';
import { id, pageSchemaOf, pageQuery, risk, timestamp } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';

export const auditQuery = pageQuery.extend({
  identity_id: id.optional(),
  user_id: id.optional(),
  approval_id: id.optional(),
  service: z.string().max(100).optional(),
  type: z.string().max(60).optional(),
  outcome: auditOutcome.optional(),
  risk: risk.optional(),
  since: timestamp.optional(),
  until: timestamp.optional(),
  /** Found in the description, whatever its case. */
  text: z.string().min(1).max(200).optional(),
});
export type AuditQuery = z.infer<typeof auditQuery>;

/** One call, or one record that is of no call. */
export const auditLookup = z.strictObject({
  call_id: id.nullable(),
  /**
   * What is known of it by now: `started` while no outcome is recorded, else the outcome. Null for
   * a record that has none, such as the change of a setting.
   */
  state: auditOutcome.nullable(),
  /** In the order of the log. */
  rows: z.array(auditRecord).min(1).max(100),
});
export type AuditLookup = z.infer<typeof auditLookup>;

export const auditVerification = z.strictObject({
  valid: z.boolean(),
  rows_checked: z.int(),
  /** The first row whose hash does not fit, when there is one. */
  first_bad_seq: z.int().nullable(),
  /**
   * The newest record when the check began. Note it elsewhere: a log that no longer has this
   * `seq` with this `hash` was cut.
   */
  head: z.strictObject({ seq: z.int(), hash: z.string().length(64) }).nullable(),
});
export type AuditVerification = z.infer<typeof auditVerification>;

export const auditRoutes = defineRoutes({
  getAudit: {
    method: 'GET',
    path: '/v1/audit/{id}',
    summary: 'Every record of one call, by its audit_id or by the id of a record',
    tag: 'Audit',
    access: 'user',
    params: z.strictObject({ id }),
    responses: { 200: auditLookup },
    errors: ['forbidden', 'not_found'],
    audit: 'none',
  },
  listAudit: {
    method: 'GET',
    path: '/v1/audit',
    summary: 'Audit records the caller may see, newest first',
    tag: 'Audit',
    access: 'user',
    query: auditQuery,
    responses: { 200: pageSchemaOf(auditRecord) },
    errors: ['forbidden'],
    audit: 'none',
  },
  verifyAudit: {
    method: 'GET',
    path: '/v1/audit/verify',
    summary: "Check the hash chain of the org's audit log",
    tag: 'Audit',
    access: 'user',
    responses: { 200: auditVerification },
    errors: ['forbidden'],
    audit: 'none',
  },
});
