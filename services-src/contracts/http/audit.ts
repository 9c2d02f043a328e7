import { z } from 'zod';

import { auditOutcome, auditRecord } from '../audit.ts';
import { givenTime, id, pageSchemaOf, pageQuery, risk, timestamp } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';

export const auditQuery = pageQuery.extend({
  identity_id: id.optional(),
  user_id: id.optional(),
  approval_id: id.optional(),
  service: z.string().max(100).optional(),
  type: z.string().max(60).optional(),
  outcome: auditOutcome.optional(),
  risk: risk.optional(),
  since: givenTime.optional(),
  until: givenTime.optional(),
  /** Matches descriptions that contain this text, without regard to case. */
  text: z.string().min(1).max(200).optional(),
});
export type AuditQuery = z.infer<typeof auditQuery>;

/**
 * The display names of people in the records, by `user_id`. They stand beside the records, because
 * the hash of a record covers all of its members.
 */
const people = z
  .array(z.strictObject({ user_id: id, display_name: z.string() }))
  .max(200)
  .optional();

/** The audit records of one call, or one record that belongs to no call. */
export const auditLookup = z.strictObject({
  call_id: id.nullable(),
  /**
   * The last known state of the call: `started` while no outcome is recorded, then the outcome.
   * Null for a record without an outcome, such as the change of a setting.
   */
  state: auditOutcome.nullable(),
  /** The records in the order of the log. */
  rows: z.array(auditRecord).min(1).max(100),
  people,
});
export type AuditLookup = z.infer<typeof auditLookup>;

export const auditPage = pageSchemaOf(auditRecord).extend({ people });

export const auditVerification = z.strictObject({
  valid: z.boolean(),
  rows_checked: z.int(),
  /** The first row whose hash is wrong; null when every hash is right. */
  first_bad_seq: z.int().nullable(),
  /**
   * The newest record when the check began. Keep it outside the gateway: if the log no longer has a
   * record with this `seq` and `hash`, records were removed from it.
   */
  head: z.strictObject({ seq: z.int(), hash: z.string().length(64) }).nullable(),
});
export type AuditVerification = z.infer<typeof auditVerification>;

/**
 * For how many days the numbers of calls are kept, and for how many days an answer may give them by
 * the hour.
 */
export const usageDaysMax = 90;
export const usageHourDaysMax = 7;
/**
 * The most keys (of `key` below) in one answer. If there are more, the answer has those with the
 * most calls.
 */
export const usageKeysMax = 50;

const usageBucket = z.enum(['hour', 'day']);
export type UsageBucket = z.infer<typeof usageBucket>;
const usageKind = z.enum(['outcome', 'agent', 'service']);
export type UsageKind = z.infer<typeof usageKind>;

export const usageQuery = z.strictObject({
  from: givenTime.optional(),
  to: givenTime.optional(),
  bucket: usageBucket.optional(),
  by: usageKind.optional(),
});
export type UsageQuery = z.infer<typeof usageQuery>;

const usageItem = z.strictObject({
  /** The beginning of the hour or of the day, in UTC. */
  bucket: timestamp,
  /**
   * An outcome, the id of an identity, or the name of a service. Null for calls that named no
   * service, or a service that does not exist.
   */
  key: z.string().max(300).nullable(),
  /** The name of the identity when it last called. */
  name: z.string().max(300).optional(),
  count: z.int().min(1),
});
export type UsageItem = z.infer<typeof usageItem>;

export const usage = z.strictObject({
  /** The counted time: the whole hours that the request covers; `to` is exclusive. */
  from: timestamp,
  to: timestamp,
  bucket: usageBucket,
  by: usageKind,
  items: z.array(usageItem).max(usageKeysMax * (usageHourDaysMax * 24 + 2)),
  /** The keys beyond the 50 with the most calls, and their calls. */
  left_out: z.strictObject({ keys: z.int().min(0), count: z.int().min(0) }),
});
export type Usage = z.infer<typeof usage>;

export const auditRoutes = defineRoutes({
  getAudit: {
    method: 'GET',
    path: '/v1/audit/{id}',
    summary: 'Every record of one call, by its audit_id or by the id of a record',
    tag: 'Audit',
    access: 'user',
    params: z.strictObject({ id }),
    responses: { 200: auditLookup },
    serves: ['audit.get', 'auth.listDisplayNames'],
    audit: 'none',
  },
  listAudit: {
    method: 'GET',
    path: '/v1/audit',
    summary: 'Audit records the caller may see, newest first',
    tag: 'Audit',
    access: 'user',
    query: auditQuery,
    responses: { 200: auditPage },
    serves: ['audit.list', 'auth.listDisplayNames'],
    audit: 'none',
  },
  verifyAudit: {
    method: 'GET',
    path: '/v1/audit/verify',
    summary: "Check the hash chain of the org's audit log",
    tag: 'Audit',
    access: 'user',
    responses: { 200: auditVerification },
    serves: 'audit.verify',
    audit: 'none',
  },
  getUsage: {
    method: 'GET',
    path: '/v1/usage',
    summary: 'How many calls there were, by hour or day, and by outcome, agent or service',
    tag: 'Audit',
    access: 'user',
    query: usageQuery,
    responses: { 200: usage },
    serves: 'audit.usage',
    audit: 'none',
  },
});
