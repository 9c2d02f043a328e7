import { z } from 'zod';

import { ruleEffects } from '../value-sets.ts';
import {
  givenTime,
  id,
  nameReference,
  pageSchemaOf,
  pageQuery,
  permissionKey,
  risk,
  timestamp,
} from '../vocabulary.ts';
import { defineRoutes } from './define.ts';

/** Allow or deny of a key pattern, on one identity or the whole org (docs/reference/permissions.md#rules). */
export const rule = z.strictObject({
  id,
  org_id: id,
  /** Null means that the rule applies to the whole org. */
  identity_id: id.nullable(),
  effect: z.enum(ruleEffects),
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
  /** `use_count` and `last_used_at` together; null while the rule has decided no call. */
  used: z
    .strictObject({ count: z.int().min(1), last_at: timestamp })
    .nullable()
    .optional(),
  /**
   * What the rule says, in words. Absent when the person or agent that the rule is for cannot be
   * found.
   */
  description: z.string().max(500).optional(),
  /** Set in lists when an upgrade changed what the rule means: why a person should review it. */
  review: z.string().max(500).optional(),
});
export type Rule = z.infer<typeof rule>;

/**
 * A new rule. For a deny rule, also the connected services whose calls it refuses in part or whole.
 */
export const createdRule = rule.extend({
  stops: z
    .array(z.strictObject({ service: z.string().max(100), action: z.string().max(128) }))
    .max(100)
    .optional(),
  /**
   * For a rule on the whole org: the number of services of other members whose calls the rule
   * refuses in part or whole. They are not named, because only their owners may see them.
   */
  stops_of_others: z.int().min(0).optional(),
  /** True when there may be more than `stops` names and `stops_of_others` counts. */
  stops_cut: z.boolean().optional(),
  /** Why the rule matches no call yet; absent when it may match calls. */
  matches_nothing: z.string().max(500).optional(),
});
export type CreatedRule = z.infer<typeof createdRule>;

export const createRuleBody = z.strictObject({
  identity_id: id.nullable(),
  effect: z.enum(ruleEffects),
  pattern: permissionKey,
  risk_at_least: risk.optional(),
  expires_at: givenTime.optional(),
});

export type CreateRuleBody = z.infer<typeof createRuleBody>;

/** Filters of the list of rules; a rule must match all filters that are given. */
export const rulesQuery = pageQuery.extend({
  identity_id: id.optional(),
  effect: rule.shape.effect.optional(),
  created_by: id.optional(),
  /** Only rules that were stored for this approval. */
  approval_id: id.optional(),
  /** Only rules whose pattern contains this name of a service (`github`, `org/github`). */
  service: nameReference.optional(),
  /** Only rules that apply to the whole org. */
  scope: z.literal('org').optional(),
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
    serves: 'policy.listRules',
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
    serves: 'policy.createRule',
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
    serves: 'policy.deleteRule',
    audit: ['rule.deleted'],
  },
});
