import { z } from 'zod';

import { disclosedField } from '../audit.ts';
import { call, callOptions, callResult } from '../call.ts';
import { cardProof } from '../card.ts';
import { defineContract } from '../define.ts';
import { shownRequest } from '../http/approvals.ts';
import { provideSecretBody, requestSecretBody, secretRequest } from '../http/secret-requests.ts';
import { askingErrors } from '../http/service-tools.ts';
import {
  createSecretBody,
  secret,
  secretDetail,
  secretVersion,
  storedSecret,
  updateSecretBody,
} from '../http/secrets.ts';
import { discovered } from '../mcp.ts';
import { signedGap, signedPermit } from '../permit.ts';
import {
  callContext,
  host,
  id,
  nameReference,
  pageSchemaOf,
  pageRequest,
  signedPrincipal,
} from '../vocabulary.ts';
import { connectedAt, connectionEndpoints } from './connections.ts';

const done = z.strictObject({});

/** What every change of a secret says about its caller; `context` goes into the audit row. */
const change = z.strictObject({ principal: signedPrincipal, context: callContext });
/** Of the link of a secret request. */
const provideToken = z.string().max(200);

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
  'conflict',
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
  'rate_limited',
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
      /** For calls of the service `platform`: the components that own its actions decide by it. */
      principal: signedPrincipal.optional(),
      /** A full executor lets it wait for a moment: the caller has asked for another one already. */
      mayWait: z.boolean().optional(),
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
      /** The id the approval will get: the gap's, or that of the first call with its idempotency key. */
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
        /** Of the card that an approval of this shows. */
        cardMac: cardProof.shape.mac,
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
      'upstream_refused_address',
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
      /** Whether the call would be shown to somebody: then it is refused for what they could not be shown of it. */
      isAskedAbout: z.boolean(),
    }),
    response: z.strictObject({ request: shownRequest }),
    errors: ['unauthenticated', 'invalid_params', 'filter_invalid', 'upstream_refused_address'],
    callers: ['policy'],
    timeoutMs: 3_000,
  },
  /**
   * Which tools an MCP server offers, all pages of them. A read with the credential of a service
   * that its owner may use; the registry asks on connecting, on request and from time to time.
   */
  discoverTools: {
    request: z.strictObject({
      orgId: id,
      /** Null for a service of the org, which uses the org's credentials alone. */
      userId: id.nullable(),
      url: z.string().max(2000),
      /** Null for servers that ask for none. */
      credential: z
        .discriminatedUnion('kind', [
          z.strictObject({ kind: z.literal('secret'), reference: nameReference }),
          z.strictObject({ kind: z.literal('connection'), reference: nameReference }),
        ])
        .nullable(),
    }),
    response: discovered,
    errors: ['credential_missing', 'host_not_allowed', ...askingErrors],
    callers: ['registry'],
    timeoutMs: 25_000,
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
      ...connectedAt,
    }),
    response: done,
    errors: ['credential_missing', 'host_not_allowed'],
    callers: ['registry'],
    timeoutMs: 4_000,
  },
  /** Where the bytes of a file are, for the caller or an ancestor of it; to anybody else there is none. */
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
  },
  listSecrets: {
    request: z.strictObject({ principal: signedPrincipal, page: pageRequest }),
    response: pageSchemaOf(secretDetail),
    errors: ['unavailable'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  /** A secret's value crosses the bus in this message, or in `provideSecret`, and in no other. */
  createSecret: {
    request: change.extend({ body: createSecretBody }),
    response: storedSecret,
    errors: ['forbidden', 'host_not_allowed', 'conflict', 'invalid_params'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  getSecret: {
    request: z.strictObject({ principal: signedPrincipal, id }),
    response: secretDetail,
    errors: ['not_found', 'unavailable'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  updateSecret: {
    request: change.extend({ id, body: updateSecretBody }),
    response: secret,
    errors: ['not_found', 'forbidden', 'host_not_allowed', 'invalid_params'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  listSecretVersions: {
    request: z.strictObject({ principal: signedPrincipal, id, page: pageRequest }),
    response: pageSchemaOf(secretVersion),
    errors: ['not_found'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  /** The value of an earlier version, sealed anew, becomes the next one. */
  restoreSecretVersion: {
    request: change.extend({ id, version: z.int().min(1) }),
    response: storedSecret,
    errors: ['not_found', 'forbidden', 'conflict', 'credential_missing'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  deleteSecret: {
    request: change.extend({ id }),
    response: done,
    errors: ['not_found', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  /** Makes the one-time link on which a person enters a new secret; `token` is told this once. */
  requestSecret: {
    request: change.extend({ body: requestSecretBody }),
    response: secretRequest.extend({ token: provideToken }),
    errors: ['forbidden', 'conflict', 'invalid_params', 'rate_limited'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  /** `not_found` to everybody but who may enter it. */
  getSecretRequest: {
    request: z.strictObject({ principal: signedPrincipal, token: provideToken }),
    response: secretRequest,
    errors: ['not_found', 'expired', 'conflict'],
    callers: ['gateway'],
    timeoutMs: 2_000,
  },
  /** Uses the link up, of any number at once exactly one. */
  provideSecret: {
    request: change.extend({ token: provideToken, body: provideSecretBody }),
    response: storedSecret,
    errors: ['not_found', 'expired', 'conflict', 'host_not_allowed', 'invalid_params'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  ...connectionEndpoints,
  ping: {
    request: done,
    /** Busy: calls were refused just now because no slot was free for anybody, or soon will be. */
    response: z.strictObject({ busy: z.boolean() }),
    errors: [],
    callers: ['gateway'],
    timeoutMs: 1_000,
  },
});
