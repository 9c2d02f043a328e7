import { z } from 'zod';

import { accountAddress } from '../account-value.ts';
import { call, callOptions, templateReference } from '../call.ts';
import { signedDecision } from '../decision.ts';
import { defineContract } from '../define.ts';
import { outboxPing, readerPing } from '../events.ts';
import { validateReply } from '../http/actions.ts';
import { explainedApproval } from '../http/approvals.ts';
import { createdRule, createRuleBody, rule } from '../http/rules.ts';
import { signedGap, signedPermit } from '../permit.ts';
import {
  callContext,
  host,
  id,
  nameReference,
  pageSchemaOf,
  pageRequest,
  permissionKey,
  risk,
  signedPrincipal,
  tier,
} from '../vocabulary.ts';

/** The parts of a decision that the gateway puts into its audit row and its answer. */
const decisionSummary = {
  service: z.string().max(100),
  template: z.string().max(100).nullable(),
  action: z.string().max(300),
  permissionKeys: z.array(permissionKey).max(20),
  risk,
  nonRead: z.boolean(),
  description: z.string().max(2000),
};

const emptyReply = z.strictObject({});

/** Decides whether calls may be made; it executes none. */
export const policy = defineContract('policy', {
  /**
   * Validates the call, derives its permission keys and checks them against the rules on its chain
   * of identities (docs/reference/permissions.md#the-walk).
   */
  decide: {
    request: z.strictObject({ principal: signedPrincipal, call, options: callOptions }),
    response: z.discriminatedUnion('outcome', [
      z.strictObject({
        outcome: z.literal('permit'),
        permit: signedPermit,
        auditId: id,
        ...decisionSummary,
      }),
      z.strictObject({ outcome: z.literal('gap'), gap: signedGap, ...decisionSummary }),
      z.strictObject({
        outcome: z.literal('denied'),
        reason: z.string().max(1000),
        ...decisionSummary,
      }),
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
    repeatable: true,
  },
  /**
   * The dry run of `POST /v1/actions/validate`: it changes nothing, writes no audit row and sends
   * no request to an upstream.
   */
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
    repeatable: true,
  },
  /**
   * What the current rules say about a suspended call, checked as a call of its requester. It signs
   * nothing and changes nothing.
   */
  explainGap: {
    request: z.strictObject({ orgId: id, gap: signedGap }),
    response: explainedApproval,
    errors: ['unauthenticated', 'not_found', 'identity_archived', 'invalid_params'],
    callers: ['approvals'],
    timeoutMs: 3_000,
    repeatable: true,
  },
  /**
   * Checks an allowed call again before its replay and signs the permit. The chain of identities
   * must be active, no deny rule may match, permission keys that needed no approval must still be
   * allowed, an agent that approved must still have authority, and the action, service, template
   * version and credential must be enabled and unchanged. `approval_stale` names what changed.
   */
  permitReplay: {
    request: z.strictObject({
      gap: signedGap,
      decision: signedDecision,
      executionId: id,
      /** Set when the decision was made on another approval and also covers this call. */
      cascade: z
        .strictObject({
          /**
           * The approval of the call that is replayed. The encrypted call can only be opened under
           * this id.
           */
          approvalId: id,
          /** The permission gap on which the decision was made. */
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
    repeatable: true,
  },
  /**
   * Whether the identity's authority covers these permission keys
   * (docs/reference/permissions.md#authority). `untilMs` is when the rule that gives the authority
   * ends (milliseconds since the epoch), or null when it has no end.
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
    repeatable: true,
  },
  /**
   * Stores the rules of a remembered decision, on the identity that its permission gap names.
   * Idempotent by approval and pattern.
   */
  plantRules: {
    request: z.strictObject({ gap: signedGap, decision: signedDecision }),
    response: z.strictObject({ ruleIds: z.array(id) }),
    errors: ['unauthenticated', 'not_found', 'approval_stale'],
    callers: ['approvals'],
    timeoutMs: 3_000,
    repeatable: { because: 'a rule is stored once for each approval and pattern' },
  },
  listRules: {
    request: z.strictObject({
      principal: signedPrincipal,
      identityId: id.nullable(),
      effect: rule.shape.effect.nullable(),
      createdBy: id.nullable(),
      approvalId: id.nullable(),
      service: nameReference.nullable().default(null),
      scope: z.literal('org').nullable().default(null),
      page: pageRequest,
    }),
    response: pageSchemaOf(rule),
    errors: ['unauthenticated', 'forbidden', 'not_found', 'invalid_request'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: true,
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
    // A deny rule is compared with every connected service.
    timeoutMs: 5_000,
    repeatable: false,
  },
  deleteRule: {
    request: z.strictObject({ principal: signedPrincipal, id, context: callContext.optional() }),
    response: emptyReply,
    errors: ['unauthenticated', 'forbidden', 'not_found'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  /**
   * The gateway reports a template version before it is published. Policy decides by the template
   * in this request and does not trust the registry's copy. Throws `conflict` when the owner has
   * already published as many versions as policy keeps.
   */
  recordTemplate: {
    request: z.strictObject({
      principal: signedPrincipal,
      key: templateReference.shape.key,
      tier,
      version: templateReference.shape.version,
    }),
    response: emptyReply,
    errors: ['unauthenticated', 'forbidden', 'not_found', 'conflict'],
    callers: ['gateway'],
    timeoutMs: 5_000,
    repeatable: { because: 'a version that is recorded already is compared and left as it is' },
  },
  /** The gateway reports that a template was deleted; its version numbers are never used again. */
  forgetTemplate: {
    request: z.strictObject({
      principal: signedPrincipal,
      key: templateReference.shape.key,
      tier,
    }),
    response: emptyReply,
    errors: ['unauthenticated', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  /**
   * The hosts to which credentials may go for a service made from this template at this base URL
   * (null: the template's base URL). The executor asks before it adds a host that the registry
   * names, and before it asks a provider which sites an account has access to.
   */
  listServiceHosts: {
    request: z.strictObject({
      orgId: id,
      userId: id,
      template: templateReference,
      baseUrl: z.string().max(2000).nullable(),
      /**
       * The security scheme with which the service will be connected. Set only when `baseUrl` is
       * null.
       */
      scheme: z.string().max(100).optional(),
    }),
    response: z.strictObject({
      hosts: z.array(host).max(51),
      /** Set when the service's address depends on the account of the connection. */
      account: accountAddress.optional(),
    }),
    errors: ['not_found'],
    callers: ['executor'],
    timeoutMs: 3_000,
    repeatable: true,
  },
  /**
   * The gateway reports a base URL that an admin gave, before a service is connected at that URL.
   */
  recordAddress: {
    request: z.strictObject({ principal: signedPrincipal, baseUrl: z.string().max(2000) }),
    response: emptyReply,
    errors: ['unauthenticated', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: { because: 'an address is stored once for each org' },
  },
  ping: {
    request: emptyReply,
    /** `time`: policy's clock in ms, for components that have no database to compare with. */
    response: outboxPing.extend({ ...readerPing.shape, time: z.number().optional() }),
    errors: [],
    callers: ['gateway'],
    timeoutMs: 1_000,
    repeatable: false,
  },
});
