import { z } from 'zod';

import { disclosedField } from '../audit.ts';
import { call, callOptions, callResult } from '../call.ts';
import { defineContract } from '../define.ts';
import { shownRequest } from '../http/approvals.ts';
import { createSecretBody, secret, secretVersion } from '../http/secrets.ts';
import { signedGap, signedPermit } from '../permit.ts';
import {
  callContext,
  host,
  id,
  nameReference,
  pageOf,
  pageRequest,
  signedPrincipal,
} from '../vocabulary.ts';
import { connectionEndpoints } from './connections.ts';

const done = z.strictObject({});

/** `base64url(nonce || ciphertext || tag)`, sealed by the vault for the purpose `frozen_call`. */
export const sealedCall = z.string().min(1).max(3_000_000);

const executed = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('called'),
    result: callResult,
    auditId: id,
    /** True when this is the stored answer of an earlier call with the same idempotency key or dispatch. */
    replayed: z.boolean(),
  }),
  /** The idempotency key belongs to a call that was suspended: the approval's present state is the answer. */
  z.strictObject({ kind: z.literal('suspended'), approvalId: id }),
]);

const executionErrors = [
  'unauthenticated',
  'credential_missing',
  'needs_authentication',
  'reauth_required',
  'missing_scopes',
  'host_not_allowed',
  'invalid_params',
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
  'unavailable',
] as const;

/** Performs, and decides nothing. Owns the vault; runs only what policy permitted. */
export const executor = defineContract('executor', {
  /** Builds, injects and sends one permitted call, and records it. */
  execute: {
    request: z.strictObject({
      permit: signedPermit,
      call,
      options: callOptions,
      context: callContext,
    }),
    response: executed,
    errors: executionErrors,
    callers: ['gateway'],
    timeoutMs: 120_000,
    hot: true,
  },
  /** The replay of an approved call: unseals it, rebuilds the request and sends it only if its digest is the approved one. */
  executeFrozen: {
    request: z.strictObject({
      permit: signedPermit,
      sealedCall,
      requestDigest: z.string().length(64),
      context: callContext,
    }),
    response: executed,
    errors: executionErrors,
    callers: ['approvals'],
    timeoutMs: 120_000,
  },
  /**
   * What a person will be asked to approve: the redacted request, the disclosed fields and the
   * frozen call, sealed. For a call with an idempotency key that was seen before it answers what
   * became of that one (`seen`) and prepares nothing.
   */
  preview: {
    request: z.strictObject({
      gap: signedGap,
      call,
      options: callOptions,
      /** The id the approval will get. */
      approvalId: id,
    }),
    response: z.discriminatedUnion('kind', [
      z.strictObject({
        kind: z.literal('preview'),
        request: shownRequest,
        disclosed: z.array(disclosedField).max(50),
        /** The action sentence, with opaque ids looked up where allowed. */
        description: z.string().max(2000),
        sealedCall,
        requestDigest: z.string().length(64),
      }),
      z.strictObject({ kind: z.literal('seen'), outcome: executed }),
    ]),
    errors: [
      'unauthenticated',
      'invalid_params',
      'filter_invalid',
      'idempotency_key_reused',
      'execution_in_progress',
      'outcome_unknown',
      'too_large',
    ],
    callers: ['approvals'],
    timeoutMs: 10_000,
  },
  /** The redacted request of a dry run; nothing is looked up or stored. */
  showRequest: {
    request: z.strictObject({
      gapOrPermit: z.string().min(20).max(65_536),
      kind: z.enum(['gap', 'permit']),
      call,
    }),
    response: z.strictObject({ request: shownRequest }),
    errors: ['unauthenticated', 'invalid_params'],
    callers: ['policy'],
    timeoutMs: 3_000,
  },
  /** Which of these secrets exist for this user, and where they may go. No values. */
  describeSecrets: {
    request: z.strictObject({
      orgId: id,
      userId: id,
      names: z.array(nameReference).min(1).max(20),
    }),
    response: z.strictObject({
      secrets: z.array(
        z.strictObject({
          /** The name as it was asked for, and as it stands in permission keys (`org/` for the org's). */
          asked: nameReference,
          reference: nameReference,
          id,
          allowedHosts: z.array(host),
          version: z.int(),
        }),
      ),
    }),
    errors: [],
    callers: ['policy', 'registry'],
    timeoutMs: 2_000,
  },
  /** Connecting a service adds its hosts to the secret when the caller may write it; else `host_not_allowed`. */
  allowSecretHosts: {
    request: z.strictObject({
      principal: signedPrincipal,
      reference: nameReference,
      hosts: z.array(host).min(1).max(50),
    }),
    response: done,
    errors: ['credential_missing', 'host_not_allowed'],
    callers: ['registry'],
    timeoutMs: 3_000,
  },
  listSecrets: {
    request: z.strictObject({ principal: signedPrincipal, page: pageRequest }),
    response: pageOf(secret),
    errors: [],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  /** The one message in which a secret's value crosses the bus. */
  createSecret: {
    request: z.strictObject({ principal: signedPrincipal, body: createSecretBody }),
    response: secret.extend({ version: z.int() }),
    errors: ['forbidden', 'host_not_allowed', 'conflict', 'invalid_params'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  getSecret: {
    request: z.strictObject({ principal: signedPrincipal, id }),
    response: secret,
    errors: ['not_found'],
    callers: ['gateway'],
    timeoutMs: 2_000,
  },
  listSecretVersions: {
    request: z.strictObject({ principal: signedPrincipal, id, page: pageRequest }),
    response: pageOf(secretVersion),
    errors: ['not_found'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  deleteSecret: {
    request: z.strictObject({ principal: signedPrincipal, id }),
    response: done,
    errors: ['not_found', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  ...connectionEndpoints,
  ping: {
    request: done,
    response: done,
    errors: [],
    callers: ['gateway'],
    timeoutMs: 1_000,
  },
});
