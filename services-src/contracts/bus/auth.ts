import { z } from 'zod';

import { proposedDecision, signedDecision } from '../decision.ts';
import { defineContract } from '../define.ts';
import {
  agentKey,
  createAgentBody,
  createAgentKeyBody,
  createSubagentBody,
  createdAgentKey,
  identity,
  me,
  updateIdentityBody,
} from '../http/identities.ts';
import { openedSession, signInEndpoints, visit } from './sign-in.ts';
import {
  clientId,
  mcpConnection,
  oauthClient,
  updateMcpConnectionBody,
} from '../http/oauth-clients.ts';
import {
  callContext,
  chainLink,
  id,
  pageSchemaOf,
  pageRequest,
  principal,
  role,
  signedPrincipal,
  timestamp,
} from '../vocabulary.ts';

export const orgSettings = z.strictObject({
  approvalTtlSeconds: z.int().positive(),
  autoBubbleSeconds: z.int().min(0),
  rememberTtlSeconds: z.int().positive(),
  selfRememberMaxSeconds: z.int().positive(),
  durableReadAudit: z.boolean(),
});
export type OrgSettings = z.infer<typeof orgSettings>;

const done = z.strictObject({});

/** What every change says about its caller; `context` goes into the audit row. */
const change = z.strictObject({ principal: signedPrincipal, context: callContext });

/** Who someone is, and what they may act as. Owns orgs, users, agents, keys and sessions. */
export const auth = defineContract('auth', {
  /** Turns a bearer or a session token into a principal. `unauthenticated` for anything unknown, expired or revoked. */
  authenticate: {
    request: z.strictObject({
      kind: z.enum(['bearer', 'session']),
      token: z.string().min(1).max(512),
    }),
    response: z.strictObject({ principal: signedPrincipal, claims: principal }),
    errors: ['unauthenticated', 'identity_archived'],
    callers: ['gateway'],
    timeoutMs: 2_000,
    hot: true,
  },
  /** Consumes a one-time sign-in link and opens a dashboard session. */
  signIn: {
    request: visit.extend({ token: z.string().min(1).max(200) }),
    response: openedSession,
    errors: ['expired'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  signOut: {
    request: change,
    response: done,
    errors: ['unauthenticated', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  /** An identity's chain as it stands now, for re-checks at resolve and replay. */
  getChain: {
    request: z.strictObject({ orgId: id, identityId: id }),
    response: z.strictObject({
      /** False when it or an ancestor is archived, revoked or expired, or an auditor's agent. */
      active: z.boolean(),
      /** Why not: the worst of the chain. What is archived, as an auditor's agents are, may act again. */
      standing: z.enum(['active', 'archived', 'expired', 'revoked']),
      chain: z.array(chainLink).min(1).max(9),
      role: role.nullable(),
      /** Clients with `self_approve_enabled`, by the agent of the chain that they act as. */
      selfApproving: z
        .array(z.strictObject({ agentId: id, clientIds: z.array(clientId).min(1).max(100) }))
        .max(9),
    }),
    errors: ['not_found'],
    callers: ['policy', 'approvals'],
    timeoutMs: 2_000,
  },
  getOrgSettings: {
    request: z.strictObject({ orgId: id }),
    response: orgSettings,
    errors: ['not_found'],
    callers: ['approvals', 'policy', 'executor'],
    timeoutMs: 2_000,
  },
  getMe: {
    request: z.strictObject({ principal: signedPrincipal }),
    response: me,
    errors: ['unauthenticated'],
    callers: ['gateway', 'executor'],
    timeoutMs: 2_000,
  },
  listIdentities: {
    request: z.strictObject({ principal: signedPrincipal, page: pageRequest }),
    response: pageSchemaOf(identity),
    errors: ['unauthenticated'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  getIdentity: {
    request: z.strictObject({ principal: signedPrincipal, id }),
    response: identity,
    errors: ['unauthenticated', 'not_found'],
    callers: ['gateway', 'policy'],
    timeoutMs: 2_000,
  },
  createAgent: {
    request: change.extend({ body: createAgentBody }),
    response: identity,
    errors: ['unauthenticated', 'conflict', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  createSubagent: {
    request: change.extend({ body: createSubagentBody }),
    response: identity,
    errors: ['unauthenticated', 'conflict', 'forbidden', 'not_found', 'invalid_params'],
    callers: ['gateway', 'executor'],
    timeoutMs: 3_000,
  },
  updateIdentity: {
    request: change.extend({ id, body: updateIdentityBody }),
    response: identity,
    errors: ['unauthenticated', 'not_found', 'forbidden', 'conflict', 'invalid_params'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  /** Stops an identity and its subtree; `restoreIdentity` by the archiver's rank or above undoes it. */
  archiveIdentity: {
    request: change.extend({ id }),
    response: identity,
    errors: ['unauthenticated', 'not_found', 'forbidden', 'conflict'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  restoreIdentity: {
    request: change.extend({ id }),
    response: identity,
    errors: ['unauthenticated', 'not_found', 'forbidden', 'conflict'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  revokeIdentity: {
    request: change.extend({ id }),
    response: identity,
    errors: ['unauthenticated', 'not_found', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  listAgentKeys: {
    request: z.strictObject({ principal: signedPrincipal, id, page: pageRequest }),
    response: pageSchemaOf(agentKey),
    errors: ['unauthenticated', 'not_found', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  createAgentKey: {
    request: change.extend({ id, body: createAgentKeyBody }),
    response: createdAgentKey,
    errors: ['unauthenticated', 'not_found', 'forbidden', 'conflict', 'invalid_params'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  revokeAgentKey: {
    request: change.extend({ id, keyId: id }),
    response: done,
    errors: ['unauthenticated', 'not_found', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  /**
   * Whether the caller's own (user, client) binding has `self_approve_enabled`, read from the
   * database on every call. False for everybody who did not come by an OAuth client's binding.
   */
  getSelfApproval: {
    request: z.strictObject({ principal: signedPrincipal }),
    response: z.strictObject({ enabled: z.boolean() }),
    errors: ['unauthenticated'],
    callers: ['gateway', 'approvals'],
    timeoutMs: 2_000,
  },
  /**
   * Signs that the owner of a credential allows a call: the gateway has the credential while it
   * serves the request, and nobody else gets to see one.
   */
  signDecision: {
    request: z.strictObject({
      kind: z.enum(['bearer', 'session']),
      token: z.string().min(1).max(512),
      proposed: proposedDecision,
      /** How long to remember, as it was written; null: the org's setting, or `forever`. */
      ttl: z.string().max(40).nullable(),
      forever: z.boolean(),
    }),
    response: z.strictObject({ decision: signedDecision }),
    errors: [
      'unauthenticated',
      'identity_archived',
      'insufficient_scope',
      'self_approval_disabled',
      'exceeds_authority',
      'invalid_params',
    ],
    callers: ['gateway'],
    timeoutMs: 2_000,
  },
  /** What decisions are or were signed with: public, and of all orgs. */
  listPublicKeys: {
    request: done,
    response: z.strictObject({
      keys: z
        .array(
          z.strictObject({
            id: z.string().max(100),
            use: z.literal('decision'),
            algorithm: z.literal('Ed25519'),
            /** base64url of the 32 bytes. */
            public_key: z.string().max(100),
            used_from: timestamp,
            /** Null: in use. */
            used_until: timestamp.nullable(),
          }),
        )
        .max(100),
    }),
    errors: [],
    callers: ['gateway'],
    timeoutMs: 2_000,
  },
  ...signInEndpoints,
  listOauthClients: {
    request: z.strictObject({ principal: signedPrincipal, page: pageRequest }),
    response: pageSchemaOf(oauthClient),
    errors: ['unauthenticated', 'forbidden', 'invalid_request'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  /** For the caller's org alone: bindings, tokens and switches of its users stop counting. */
  revokeOauthClient: {
    request: change.extend({ clientId }),
    response: oauthClient,
    errors: ['unauthenticated', 'forbidden', 'not_found'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  listMcpConnections: {
    request: z.strictObject({ principal: signedPrincipal, id, page: pageRequest }),
    response: pageSchemaOf(mcpConnection),
    errors: ['unauthenticated', 'not_found', 'invalid_request'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  updateMcpConnection: {
    request: change.extend({ id, clientId, body: updateMcpConnectionBody }),
    response: mcpConnection,
    errors: ['unauthenticated', 'not_found', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  deleteMcpConnection: {
    request: change.extend({ id, clientId }),
    response: done,
    errors: ['unauthenticated', 'not_found', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  ping: {
    request: done,
    response: done,
    errors: [],
    callers: ['gateway'],
    timeoutMs: 1_000,
  },
});
