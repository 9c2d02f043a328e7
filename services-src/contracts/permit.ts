import { z } from 'zod';

import { decision } from './audit.ts';
import { templateReference } from './call.ts';
import {
  chainLink,
  credentialReference,
  host,
  httpMethod,
  id,
  identityKind,
  permissionKey,
  risk,
} from './vocabulary.ts';

/** Where the call goes. `baseUrl` is the connected service's, with its variables filled in. */
export const callTarget = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('action'),
    /** The name the call used, `org/` included when the org's service answered. */
    service: z.string().max(100),
    serviceId: id,
    template: templateReference,
    action: z.string().max(128),
    baseUrl: z.string().max(2000),
    /** Absent: http. */
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

/** One credential to put on the request. The value is read by the executor alone, when it sends. */
export const injection = z.strictObject({
  /** Whose value is injected: a secret's, or the access token of a connection. */
  kind: z.enum(['secret', 'connection']),
  credentialId: id,
  /** As it stands in permission keys: `github_token` or `org/github_token`. */
  credentialName: z.string().max(100),
  in: z.enum(['header', 'query']),
  key: z.string().max(200),
  prefix: z.string().max(100),
  encoding: z.enum(['raw', 'basic']),
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

/** What policy found out about a call, for the executor, the approval and the audit row alike. */
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
  /** `templateDigest` of the template that it was decided by; null for raw calls. */
  templateDigest: z.string().length(64).nullable(),
  injections: z.array(injection).max(10),
  /** The only hosts the request may go to, ports included when not the scheme's own. */
  hosts: z.array(host).min(1).max(50),
  keys: z.array(permissionKey).min(1).max(20),
  derivedKeys: z.array(derivedKey).max(20),
  risk,
  /** Method is not GET, HEAD or OPTIONS, or risk is above read, or MCP (docs/reference/permissions.md#risk). */
  nonRead: z.boolean(),
  description: z.string().max(2000),
});

/** Proof, valid for five seconds, that this one call may be executed. Signed by policy (PERMIT_KEY). */
export const permit = callFacts.extend({
  /** Also the `audit_id` of the call. */
  jti: id,
  /** What makes "at most once" true: one dispatch row per id, ever. */
  dispatchId: z.string().min(16).max(100),
  decision,
  approvalId: id.nullable(),
  executionId: id.nullable(),
  /** What the replay's request must come to; null where the sealed call alone says it. */
  requestDigest: z.string().length(64).nullable(),
  /** Milliseconds since the epoch. */
  expiresAt: z.int(),
});
export type Permit = z.infer<typeof permit>;

/** An ancestor that could decide: does its authority cover every uncovered key? */
export const ladderStep = z.strictObject({
  id,
  kind: identityKind,
  name: z.string().max(200),
  covers: z.boolean(),
});
export type LadderStep = z.infer<typeof ladderStep>;

/**
 * What policy needs at the replay to check deny rules again: they also match a call under the names
 * of other services on its host, found by method and path
 * (docs/reference/permissions.md#what-a-deny-reaches).
 */
export const otherNames = z.strictObject({
  method: httpMethod,
  /** As it stands in an `http` key. */
  path: z.string().max(8192),
  /** The tool that a call of runtime `mcp` is for: services on one endpoint differ by it alone. */
  tool: z.string().max(128).optional(),
  /**
   * Names whose `arg` came from the query or the body, which are not at hand at the replay; all of
   * one name where its value holds several.
   */
  known: z
    .array(z.strictObject({ service: z.string(), action: z.string(), arg: z.string() }))
    .max(200),
});
export type OtherNames = z.infer<typeof otherNames>;

/** What no rule in reach allows. Signed by policy, with a MAC each for itself, approvals and executor. */
export const gap = callFacts.extend({
  jti: id,
  uncoveredKeys: z.array(permissionKey).min(1).max(20),
  suggestedTiers: z.array(suggestedTier).min(1).max(4),
  /** Where `allow_remember` plants its rule: the nearest identity upwards that does not inherit. */
  placement: z.strictObject({ id, kind: identityKind, name: z.string().max(200) }),
  /** Nearest ancestor first, the user last. Ancestors that inherit are left out. */
  ladder: z.array(ladderStep).min(1).max(9),
  /** `resolve` look-ups may run: reads on the service are allowed to this identity. */
  lookUpsAllowed: z.boolean(),
  autoCallOnApprove: z.boolean(),
  issuedAt: z.int(),
  otherNames: otherNames.optional(),
});
export type Gap = z.infer<typeof gap>;

export const signedPermit = z.string().min(20).max(65_536);
export const signedGap = z.string().min(20).max(65_536);
