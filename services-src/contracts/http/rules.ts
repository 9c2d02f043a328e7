import { z } from 'zod';

import { id, pageSchemaOf, pageQuery, permissionKey, risk, timestamp } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';

/** Allow or deny of a key pattern, on one identity or the whole org (docs/reference/permissions.md#rules). */
export const rule = z.strictObject({
  id,
  org_id: id,
  /** Null: the whole org. */
  identity_id: id.nullable(),
  effect: z.enum(['allow', 'deny']),
  pattern: permissionKey,
  exact: z.boolean(),
  service_id: id.nullable(),
  credential_id: id.nullable(),
  risk_at_least: risk.nullable(),
  via: z.literal('self').nullable(),
  created_by: id,
  approval_id: id.nullable(),
  expires_at: timestamp.nullable(),
  created_at: timestamp,
  last_used_at: timestamp.nullable(),
  use_count: z.int(),
  /** Why somebody should look at it: an upgrade changed what it means. In the list alone. */
  review: z.string().max(500).optional(),
});
export type Rule = z.infer<typeof rule>;

/** With what a deny rule refuses some or all calls of: every service that the rule's owner has connected is looked at. */
export const createdRule = rule.extend({
  stops: z
    .array(z.strictObject({ service: z.string().max(100), action: z.string().max(128) }))
    .max(100)
    .optional(),
  /**
   * Of a rule for the whole org: how many services that other members have for themselves it refuses some
   * or all calls of. They are not named: only their owners see them.
   */
  stops_of_others: z.int().min(0).optional(),
  /** There may be more than `stops` names and `stops_of_others` counts. */
  stops_cut: z.boolean().optional(),
});
export type CreatedRule = z.infer<typeof createdRule>;

export const createRuleBody = z.strictObject({
  identity_id: id.nullable(),
  effect: z.enum(['allow', 'deny']),
  pattern: permissionKey,
  risk_at_least: risk.optional(),
  expires_at: timestamp.optional(),
});

export type CreateRuleBody = z.infer<typeof createRuleBody>;

/** Which rules; all of them together narrow the list. */
export const rulesQuery = pageQuery.extend({
  identity_id: id.optional(),
  effect: rule.shape.effect.optional(),
  created_by: id.optional(),
  /** Those that this approval planted. */
  approval_id: id.optional(),
});

export const ruleRoutes = defineRoutes({
  listRules: {
    method: 'GET',
    path: '/v1/rules',
    summary: 'Rules on identities the caller may see, newest first',
    tag: 'Rules',
    access: 'user',
    query: rulesQuery,
    responses: { 200: pageSchemaOf(rule) },
    errors: ['forbidden', 'not_found'],
    audit: 'none',
  },
  createRule: {
    method: 'POST',
    path: '/v1/rules',
    summary: 'Allow or deny a key pattern for an identity or the org',
    tag: 'Rules',
    access: 'user',
    body: createRuleBody,
    responses: { 201: createdRule },
    errors: ['forbidden', 'not_found', 'invalid_params', 'conflict'],
    audit: ['rule.created'],
  },
  deleteRule: {
    method: 'DELETE',
    path: '/v1/rules/{id}',
    summary: 'Delete a rule',
    tag: 'Rules',
    access: 'user',
    params: z.strictObject({ id }),
    responses: { 204: null },
    errors: ['forbidden', 'not_found'],
    audit: ['rule.deleted'],
  },
});
