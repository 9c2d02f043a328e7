import { z } from 'zod';

import { disclosedField } from '../audit.ts';
import { call, callOptions, callResult } from '../call.ts';
import { cardProof, serviceTitle } from '../card.ts';
import { defineContract } from '../define.ts';
import { outboxPing } from '../events.ts';
import { shownRequest } from '../http/approvals.ts';
import { provideSecretBody, requestSecretBody, secretRequest } from '../http/secret-requests.ts';
import {
  createSecretBody,
  secret,
  secretDetail,
  secretVersion,
  storedSecret,
  updateSecretBody,
} from '../http/secrets.ts';
import { discoveryErrors, toolDiscovery } from '../mcp.ts';
import { signedGap, signedPermit } from '../permit.ts';
import {
  callContext,
  host,
  id,
  nameReference,
  pageSchemaOf,
  pageRequest,
  signedPrincipal,
  timestamp,
} from '../vocabulary.ts';
import { connectedServiceFields, connectionEndpoints } from './connections.ts';
import { requestEndpoints } from './requests.ts';

const emptyReply = z.strictObject({});

/**
 * The fields about the caller in every request that changes a secret; `context` goes into the audit
 * row.
 */
const changeRequest = z.strictObject({ principal: signedPrincipal, context: callContext });
/** The token in the link of a secret request. */
const provideToken = z.string().max(200);

/**
 * An encrypted call, `base64url(nonce || ciphertext || tag)`, which the vault sealed for the
 * purpose `frozen_call`.
 */
export const sealedCall = z.string().min(1).max(3_000_000);

const executedCall = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('called'),
    result: callResult,
    auditId: id,
    /**
     * True when the answer is the stored one of an earlier call with this idempotency key or
     * dispatch id.
     */
    replayed: z.boolean(),
  }),
  /**
   * The idempotency key belongs to a suspended call, so the caller gets the present state of its
   * approval.
   */
  z.strictObject({ kind: z.literal('suspended'), approvalId: id }),
]);

const executionErrors = [
  'unauthenticated',
  'credential_missing',
  'needs_authentication',
  'reauth_required',
  'missing_scopes',
  'conflict',
  'host_not_allowed',
  'invalid_params',
  'too_large',
  'filter_invalid',
  'idempotency_key_reused',
  'execution_in_progress',
  'approval_stale',
  'upstream_unreachable',
  'upstream_refused_address',
  'upstream_incomplete',
  'upstream_timeout',
  'response_too_large',
  'outcome_unknown',
  'rate_limited',
  'unavailable',
] as const;

/** Executes calls that policy permitted, and decides nothing about them. Owns the vault. */
export const executor = defineContract('executor', {
  /**
   * Builds the request of one permitted call, injects the credentials, sends it, and records it.
   */
  execute: {
    request: z.strictObject({
      permit: signedPermit,
      call,
      options: callOptions,
      context: callContext,
      /**
       * For calls of the service `platform`: the components that own its actions check this
       * principal's rights.
       */
      principal: signedPrincipal.optional(),
      /**
       * True when another executor has already refused the call as busy: an executor without a free
       * slot then lets the call wait for a moment.
       */
      mayWait: z.boolean().optional(),
    }),
    response: executedCall,
    errors: executionErrors,
    callers: ['gateway'],
    timeoutMs: 120_000,
    hot: true,
    repeatable: false,
  },
  /**
   * Replays an approved call: decrypts it, rebuilds the request, and sends the request only if its
   * digest is the approved one.
   */
  executeFrozen: {
    request: z.strictObject({
      permit: signedPermit,
      sealedCall,
      context: callContext,
    }),
    response: executedCall,
    errors: executionErrors,
    callers: ['approvals'],
    timeoutMs: 120_000,
    repeatable: false,
  },
  /**
   * Makes what an approver will see and what will be replayed: the redacted request, the disclosed
   * fields and the encrypted call. If the call's idempotency key was used before, or the call joins
   * an approval, the answer tells what has the key (`seen`), and nothing is prepared.
   */
  preview: {
    request: z.strictObject({
      gap: signedGap,
      call,
      options: callOptions,
      /**
       * The id that the approval will get: the id in the permission gap, or that of the first call
       * with this idempotency key.
       */
      approvalId: id,
      /**
       * Present when `approvalId` is a stored approval of an identical call, which this call joins.
       * That approval then gets the idempotency key of the call, unless another call or approval has
       * it. Executors of release 0.1.0 ignore this member: the key then stays where it is.
       */
      joining: z
        .strictObject({
          /** An approval that may have the key but was never stored: it loses the key. */
          unstoredId: id.optional(),
          /**
           * The approval was denied a short time ago. The key of this call is only looked up: it
           * stays free for another attempt.
           */
          isDenied: z.boolean().optional(),
        })
        .optional(),
    }),
    response: z.discriminatedUnion('kind', [
      z.strictObject({
        kind: z.literal('preview'),
        request: shownRequest,
        disclosed: z.array(disclosedField).max(50),
        /**
         * The sentence that describes the call, with readable names for opaque ids where look-ups
         * are allowed.
         */
        description: z.string().max(2000),
        sealedCall,
        requestDigest: z.string().length(64),
        /** The MAC of the approval card. */
        cardMac: cardProof.shape.mac,
        serviceTitle: serviceTitle.optional(),
      }),
      z.strictObject({ kind: z.literal('seen'), outcome: executedCall }),
    ]),
    errors: [
      'unauthenticated',
      'invalid_params',
      'filter_invalid',
      'idempotency_key_reused',
      'execution_in_progress',
      'outcome_unknown',
      'too_large',
      'upstream_refused_address',
    ],
    callers: ['approvals'],
    timeoutMs: 10_000,
    repeatable: true,
  },
  /** The redacted request of a dry run; the executor neither looks up names nor stores anything. */
  showRequest: {
    request: z.strictObject({
      gapOrPermit: z.string().min(20).max(65_536),
      kind: z.enum(['gap', 'permit']),
      call,
      /**
       * True when the call would need an approval. A request that cannot be shown whole is then
       * refused.
       */
      isAskedAbout: z.boolean(),
    }),
    response: z.strictObject({ request: shownRequest }),
    errors: [
      'unauthenticated',
      'invalid_params',
      'too_large',
      'filter_invalid',
      'upstream_refused_address',
    ],
    callers: ['policy'],
    timeoutMs: 3_000,
    repeatable: true,
  },
  /**
   * Lists all tools of an MCP server, over all pages, with a credential that the owner of the
   * service may use. The registry asks when a service is connected, on request and from time to
   * time.
   */
  discoverTools: {
    request: z.strictObject({
      orgId: id,
      /** Null for a service of the org, which uses only the org's credentials. */
      userId: id.nullable(),
      url: z.string().max(2000),
      /** Null for servers that need no credential. */
      credential: z
        .discriminatedUnion('kind', [
          z.strictObject({ kind: z.literal('secret'), reference: nameReference }),
          z.strictObject({ kind: z.literal('connection'), reference: nameReference }),
        ])
        .nullable(),
    }),
    response: toolDiscovery,
    errors: ['credential_missing', 'host_not_allowed', ...discoveryErrors],
    callers: ['registry'],
    timeoutMs: 25_000,
    repeatable: false,
  },
  /**
   * Which of these secrets exist for this user, and to which hosts they may go. The answer contains
   * no values.
   */
  describeSecrets: {
    request: z.strictObject({
      orgId: id,
      userId: id,
      names: z.array(nameReference).min(1).max(20),
    }),
    response: z.strictObject({
      secrets: z.array(
        z.strictObject({
          /**
           * `asked` is the name that the caller used. `reference` is the name in permission keys
           * (`org/…` for a secret of the org).
           */
          asked: nameReference,
          reference: nameReference,
          id,
          allowedHosts: z.array(host),
          version: z.int(),
          /**
           * When a provider refused the current version; null when none has done so since the last
           * success.
           */
          refusedAt: timestamp.nullable().optional(),
        }),
      ),
    }),
    errors: [],
    callers: ['policy', 'registry'],
    timeoutMs: 2_000,
    repeatable: true,
  },
  /**
   * Adds the hosts of a service that is being connected to the secret, if the caller may write it;
   * otherwise throws `host_not_allowed`.
   */
  allowSecretHosts: {
    request: z.strictObject({
      principal: signedPrincipal,
      reference: nameReference,
      hosts: z.array(host).min(1).max(50),
      ...connectedServiceFields,
    }),
    response: emptyReply,
    errors: ['credential_missing', 'host_not_allowed'],
    callers: ['registry'],
    timeoutMs: 4_000,
    repeatable: false,
  },
  /**
   * Says where the bytes of a file are stored, for the file's caller or an ancestor of it; throws
   * `not_found` for anyone else.
   */
  getFile: {
    request: z.strictObject({ principal: signedPrincipal, id }),
    response: z.strictObject({
      chunksId: z.string().min(1).max(64),
      name: z.string().min(1).max(100),
      contentType: z.string().max(200),
      size: z.int().min(0),
    }),
    errors: ['not_found', 'expired'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: true,
  },
  listSecrets: {
    request: z.strictObject({ principal: signedPrincipal, page: pageRequest }),
    response: pageSchemaOf(secretDetail),
    errors: ['unavailable'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: true,
  },
  /** Stores a secret. Its value crosses the bus only in this message and in `provideSecret`. */
  createSecret: {
    request: changeRequest.extend({ body: createSecretBody }),
    response: storedSecret,
    errors: ['forbidden', 'host_not_allowed', 'conflict', 'invalid_params'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  getSecret: {
    request: z.strictObject({ principal: signedPrincipal, id }),
    response: secretDetail,
    errors: ['not_found', 'unavailable'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: true,
  },
  updateSecret: {
    request: changeRequest.extend({ id, body: updateSecretBody }),
    response: secret,
    errors: ['not_found', 'forbidden', 'host_not_allowed', 'invalid_params'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  listSecretVersions: {
    request: z.strictObject({ principal: signedPrincipal, id, page: pageRequest }),
    response: pageSchemaOf(secretVersion),
    errors: ['not_found'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: true,
  },
  /** Makes the value of an earlier version the newest version of the secret. */
  restoreSecretVersion: {
    request: changeRequest.extend({ id, version: z.int().min(1) }),
    response: storedSecret,
    errors: ['not_found', 'forbidden', 'conflict', 'credential_missing'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  deleteSecret: {
    request: changeRequest.extend({ id }),
    response: emptyReply,
    errors: ['not_found', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  /**
   * Makes the one-time link to a page on which a person enters a new secret. No other answer
   * contains the `token`.
   */
  requestSecret: {
    request: changeRequest.extend({ body: requestSecretBody }),
    response: secretRequest.extend({ token: provideToken }),
    errors: ['forbidden', 'not_found', 'conflict', 'invalid_params', 'rate_limited'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  /** Throws `not_found` for callers who may not enter the secret. */
  getSecretRequest: {
    request: z.strictObject({ principal: signedPrincipal, token: provideToken }),
    response: secretRequest,
    errors: ['not_found', 'expired', 'conflict'],
    callers: ['gateway'],
    timeoutMs: 2_000,
    repeatable: true,
  },
  /** Uses up the link. Of several concurrent requests, exactly one succeeds. */
  provideSecret: {
    request: changeRequest.extend({ token: provideToken, body: provideSecretBody }),
    response: storedSecret,
    errors: ['not_found', 'expired', 'conflict', 'host_not_allowed', 'invalid_params'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  ...connectionEndpoints,
  ...requestEndpoints,
  ping: {
    request: emptyReply,
    /** `busy`: the executor has just refused calls because it had no free slot, or soon will. */
    response: outboxPing.extend({ busy: z.boolean() }),
    errors: [],
    callers: ['gateway'],
    timeoutMs: 1_000,
    repeatable: false,
  },
});
