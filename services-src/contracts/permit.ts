import { z } from 'zod';

import { decision } from './audit.ts';
import { templateReference } from './call.ts';
import { credentialDerivation } from './credential-derivation.ts';
import { narrowing } from './critical.ts';
import {
  chainLink,
  credentialPlace,
  credentialReference,
  host,
  httpMethod,
  id,
  identityKind,
  injectedEncoding,
  permissionKey,
  risk,
} from './vocabulary.ts';

/**
 * The destination of a call. `baseUrl` is that of the connected service, with its variables filled
 * in, or that of the action's own server.
 */
export const callTarget = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('action'),
    /** The service name that the call used, with `org/` when the org's service answered. */
    service: z.string().max(100),
    serviceId: id,
    template: templateReference,
    action: z.string().max(128),
    baseUrl: z.string().max(2000),
    /** Absent when the runtime is http. */
    runtime: z.literal('mcp').optional(),
  }),
  z.strictObject({
    kind: z.literal('verb'),
    service: z.string().max(100),
    serviceId: id,
    template: templateReference,
    baseUrl: z.string().max(2000),
  }),
  z.strictObject({ kind: z.literal('raw') }),
]);
export type CallTarget = z.infer<typeof callTarget>;

/**
 * One credential to put on the request. Only the executor reads the value, when it sends the
 * request.
 */
export const injection = z.strictObject({
  /** The kind of value: a secret, or the access token of a connection. */
  kind: z.enum(['secret', 'connection']),
  credentialId: id,
  /** The name as in permission keys: `github_token` or `org/github_token`. */
  credentialName: z.string().max(100),
  in: credentialPlace,
  key: z.string().max(200),
  prefix: z.string().max(100),
  encoding: injectedEncoding,
  /**
   * How the executor derives the value from the parts of the secret. An executor that ignored it
   * would send the secret itself.
   */
  derivation: narrowing(credentialDerivation).optional(),
});
export type Injection = z.infer<typeof injection>;

export const derivedKey = z.strictObject({
  key: permissionKey,
  service: z.string().max(4096),
  action: z.string().max(4096),
  arg: z.string().max(4096),
});

export type DerivedKey = z.infer<typeof derivedKey>;

export const suggestedTier = z.strictObject({
  keys: z.array(permissionKey).min(1).max(20),
  description: z.string().max(500),
});

export type SuggestedTier = z.infer<typeof suggestedTier>;

/**
 * The facts about a call that policy found out, for the executor, the approval and the audit row.
 */
const callFacts = z.strictObject({
  orgId: id,
  userId: id,
  identityId: id,
  chain: z.array(chainLink).min(1).max(9),
  credential: credentialReference,
  /** `digestOf(call)`. */
  callDigest: z.string().length(64),
  idempotencyKey: z.string().max(200).nullable(),
  target: callTarget,
  /** `templateDigest` of the template by which the call was decided; null for calls by full URL. */
  templateDigest: z.string().length(64).nullable(),
  injections: z.array(injection).max(10),
  /**
   * The only hosts to which the request may go, with a port where it is not the scheme's default.
   */
  hosts: z.array(host).min(1).max(50),
  keys: z.array(permissionKey).min(1).max(20),
  derivedKeys: z.array(derivedKey).max(20),
  risk,
  /**
   * True when the method is not GET, HEAD or OPTIONS, the risk is above read, or the call goes to
   * MCP (docs/reference/permissions.md#risk).
   */
  nonRead: z.boolean(),
  description: z.string().max(2000),
});

/**
 * A permit: proof, valid for five seconds, that this one call may be executed. Signed by policy
 * (PERMIT_KEY).
 */
export const permit = callFacts.extend({
  /** The id of the permit, which is also the `audit_id` of the call. */
  jti: id,
  /**
   * The executor stores at most one dispatch row per id, ever: this prevents that a call is sent
   * twice.
   */
  dispatchId: z.string().min(16).max(100),
  decision,
  approvalId: id.nullable(),
  executionId: id.nullable(),
  /**
   * The digest that the replayed request must have; null when the encrypted call alone determines
   * the request.
   */
  requestDigest: z.string().length(64).nullable(),
  /** In milliseconds since the epoch. Earlier releases leave `issuedAt` out. */
  issuedAt: z.int().optional(),
  expiresAt: z.int(),
});
export type Permit = z.infer<typeof permit>;

/**
 * An ancestor that could decide, and whether its authority covers every permission key of the gap.
 */
export const ladderStep = z.strictObject({
  id,
  kind: identityKind,
  name: z.string().max(200),
  covers: z.boolean(),
});
export type LadderStep = z.infer<typeof ladderStep>;

/**
 * The request of a call. Policy needs it to check deny rules again at the replay, because the
 * request decides which operations of services on the host the call may be
 * (docs/reference/permissions.md#what-a-deny-reaches).
 */
export const denyNameData = z.strictObject({
  method: httpMethod,
  /** The path as in a permission key of the service `http`. */
  path: z.string().max(8192),
  /** The tool of an MCP call: services on one endpoint differ only by the tool. */
  tool: z.string().max(128).optional(),
  /**
   * Always empty, because policy no longer reads arguments of requests. Earlier releases write and
   * require this member.
   */
  known: z
    .array(z.strictObject({ service: z.string(), action: z.string(), arg: z.string() }))
    .max(200),
});
export type DenyNameData = z.infer<typeof denyNameData>;

/**
 * A permission gap: the permission keys of a call that no rule allows. Policy signs it, with one
 * MAC each for itself, approvals and executor.
 */
export const gap = callFacts.extend({
  jti: id,
  uncoveredKeys: z.array(permissionKey).min(1).max(20),
  suggestedTiers: z.array(suggestedTier).min(1).max(4),
  /**
   * The identity on which `allow_remember` stores its rule: the nearest ancestor that does not
   * inherit permissions.
   */
  placement: z.strictObject({ id, kind: identityKind, name: z.string().max(200) }),
  /**
   * The ancestors that could decide, nearest first, the user last. Ancestors that inherit
   * permissions are left out.
   */
  ladder: z.array(ladderStep).min(1).max(9),
  /**
   * Whether the executor may look up readable names (`resolve`), because this identity is allowed
   * reads on the service.
   */
  lookUpsAllowed: z.boolean(),
  autoCallOnApprove: z.boolean(),
  issuedAt: z.int(),
  otherNames: denyNameData.optional(),
});
export type Gap = z.infer<typeof gap>;

export const signedCharactersMax = 65_536;
export const signedPermit = z.string().min(20).max(signedCharactersMax);
export const signedGap = z.string().min(20).max(signedCharactersMax);
