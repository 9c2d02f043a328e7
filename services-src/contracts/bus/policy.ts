import { z } from 'zod';

import { call, callOptions, templateReference } from '../call.ts';
import { signedDecision } from '../decision.ts';
import { defineContract } from '../define.ts';
import { readerPing } from '../events.ts';
import { validateReply } from '../http/actions.ts';
import { createdRule, createRuleBody, rule } from '../http/rules.ts';
import { signedGap, signedPermit } from '../permit.ts';
import {
  callContext,
  host,
  id,
  pageSchemaOf,
  pageRequest,
  permissionKey,
  risk,
  signedPrincipal,
  tier,
} from '../vocabulary.ts';

/** What the gateway needs of a decision to write its own audit row and answer. */
const summary = {
  service: z.string().max(100),
  template: z.string().max(100).nullable(),
  action: z.string().max(300),
  permissionKeys: z.array(permissionKey).max(20),
  risk,
  nonRead: z.boolean(),
  description: z.string().max(2000),
};

const done = z.strictObject({});

/** Decides, and performs nothing. */
export const policy = defineContract('policy', {
  /** Validates the call, derives its keys and walks the chain (docs/reference/permissions.md#the-walk). */
  decide: {
    request: z.strictObject({ principal: signedPrincipal, call, options: callOptions }),
    response: z.discriminatedUnion('outcome', [
      z.strictObject({
        outcome: z.literal('permit'),
        permit: signedPermit,
        auditId: id,
        ...summary,
      }),
      z.strictObject({ outcome: z.literal('gap'), gap: signedGap, ...summary }),
      z.strictObject({ outcome: z.literal('denied'), reason: z.string().max(1000), ...summary }),
    ]),
    errors: [
      'unauthenticated',
      'identity_archived',
      'forbidden',
      'insufficient_scope',
      'invalid_params',
      'filter_invalid',
      'unknown_service',
      'unknown_action',
      'action_disabled',
      'credential_missing',
      'needs_authentication',
      'reauth_required',
      'missing_scopes',
      'risk_exceeded',
      'host_not_allowed',
      'invalid_request',
    ],
    callers: ['gateway'],
    timeoutMs: 5_000,
    hot: true,
  },
  /** The dry run of `POST /v1/actions/validate`: no side effect, no audit row, nothing outbound. */
  explain: {
    request: z.strictObject({
      principal: signedPrincipal,
      call,
      options: callOptions,
      asIdentityId: id.nullable(),
    }),
    response: validateReply,
    errors: [
      'unauthenticated',
      'identity_archived',
      'forbidden',
      'not_found',
      'invalid_params',
      'filter_invalid',
      'unknown_service',
      'unknown_action',
      'action_disabled',
      'credential_missing',
      'needs_authentication',
      'reauth_required',
      'missing_scopes',
      'risk_exceeded',
      'host_not_allowed',
      'invalid_request',
      'upstream_refused_address',
    ],
    callers: ['gateway', 'executor'],
    timeoutMs: 5_000,
  },
  /**
   * Re-checks an allowed call before its replay and signs the permit: chain active, no deny
   * since, keys outside the gap still allowed, an agent resolver still covers the gap, action
   * enabled, service, template version and credential unchanged. `approval_stale` names what changed.
   */
  permitReplay: {
    request: z.strictObject({
      gap: signedGap,
      decision: signedDecision,
      executionId: id,
      /** Set when the decision was made on another approval, and says that it cascades. */
      cascade: z
        .strictObject({
          /** Of the call that is replayed; its sealed call opens under no other. */
          approvalId: id,
          /** What the decision was made on. */
          decidedGap: signedGap,
        })
        .nullable(),
    }),
    response: z.discriminatedUnion('outcome', [
      z.strictObject({ outcome: z.literal('permit'), permit: signedPermit, auditId: id }),
      z.strictObject({ outcome: z.literal('denied'), reason: z.string().max(1000) }),
    ]),
    errors: [
      'unauthenticated',
      'not_found',
      'approval_stale',
      'identity_archived',
      'credential_missing',
      'needs_authentication',
      'reauth_required',
      'missing_scopes',
      'action_disabled',
      'unknown_service',
    ],
    callers: ['approvals'],
    timeoutMs: 5_000,
  },
  /**
   * Does the identity's authority cover these keys (docs/reference/permissions.md#authority)?
   * `untilMs` is when the rule that holds them ends (milliseconds since the epoch), null for no end.
   */
  checkAuthority: {
    request: z.strictObject({
      orgId: id,
      identityId: id,
      gap: signedGap,
      keys: z.array(permissionKey).min(1).max(50),
    }),
    response: z.strictObject({
      covers: z.boolean(),
      uncovered: z.array(permissionKey),
      untilMs: z.int().nullable(),
    }),
    errors: ['unauthenticated', 'not_found'],
    callers: ['approvals'],
    timeoutMs: 3_000,
  },
  /**
   * Plants the rules that a decision says to remember, where its gap says; idempotent by approval
   * and pattern.
   */
  plantRules: {
    request: z.strictObject({ gap: signedGap, decision: signedDecision }),
    response: z.strictObject({ ruleIds: z.array(id) }),
    errors: ['unauthenticated', 'not_found', 'approval_stale'],
    callers: ['approvals'],
    timeoutMs: 3_000,
  },
  listRules: {
    request: z.strictObject({
      principal: signedPrincipal,
      identityId: id.nullable(),
      effect: rule.shape.effect.nullable(),
      createdBy: id.nullable(),
      approvalId: id.nullable(),
      page: pageRequest,
    }),
    response: pageSchemaOf(rule),
    errors: ['unauthenticated', 'forbidden', 'not_found', 'invalid_request'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  createRule: {
    request: z.strictObject({
      principal: signedPrincipal,
      body: createRuleBody,
      context: callContext.optional(),
    }),
    response: createdRule,
    errors: ['unauthenticated', 'forbidden', 'not_found', 'invalid_params', 'conflict'],
    callers: ['gateway'],
    // Of a deny rule everything that is connected is looked at.
    timeoutMs: 5_000,
  },
  deleteRule: {
    request: z.strictObject({ principal: signedPrincipal, id, context: callContext.optional() }),
    response: done,
    errors: ['unauthenticated', 'forbidden', 'not_found'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  /**
   * Told before a version is published: policy keeps what it says, and believes the registry nothing
   * else about it. `conflict` when its owner has published as many as are kept.
   */
  recordTemplate: {
    request: z.strictObject({
      principal: signedPrincipal,
      key: templateReference.shape.key,
      tier,
      version: templateReference.shape.version,
    }),
    response: done,
    errors: ['unauthenticated', 'forbidden', 'not_found', 'conflict'],
    callers: ['gateway'],
    timeoutMs: 5_000,
  },
  /** Told after a template was deleted: its version numbers do not come again. */
  forgetTemplate: {
    request: z.strictObject({
      principal: signedPrincipal,
      key: templateReference.shape.key,
      tier,
    }),
    response: done,
    errors: ['unauthenticated', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  /**
   * To which hosts the credentials of a service may be let go that is made from this template at
   * this base URL (null: of the template alone). Asked before the registry's word adds a host.
   */
  listServiceHosts: {
    request: z.strictObject({
      orgId: id,
      userId: id,
      template: templateReference,
      baseUrl: z.string().max(2000).nullable(),
    }),
    response: z.strictObject({ hosts: z.array(host).max(51) }),
    errors: ['not_found'],
    callers: ['executor'],
    timeoutMs: 3_000,
  },
  /** Told before a service is connected at an address that an admin gives. */
  recordAddress: {
    request: z.strictObject({ principal: signedPrincipal, baseUrl: z.string().max(2000) }),
    response: done,
    errors: ['unauthenticated', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  ping: {
    request: done,
    response: readerPing,
    errors: [],
    callers: ['gateway'],
    timeoutMs: 1_000,
  },
});
