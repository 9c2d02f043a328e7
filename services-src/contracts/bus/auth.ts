import { z } from 'zod';

import { proposedDecision, signedDecision } from '../decision.ts';
import { defineContract } from '../define.ts';
import { outboxPing } from '../events.ts';
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
import { peopleEndpoints } from './people.ts';
import { openedSession, signInEndpoints, signInVisit } from './sign-in.ts';
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
  /** The name of the org. Absent in answers of earlier releases. */
  orgName: z.string().max(200).optional(),
});
export type OrgSettings = z.infer<typeof orgSettings>;

/**
 * How long auth uses what it read about a credential, and how long a gateway uses auth's answer. The
 * gateway may be answered from auth's cache, so the two times add up: together they are the second
 * after which a revocation holds, even if its event is lost (docs/reference/identities.md#lifetimes).
 */
export const credentialCachedMs = 500;

const emptyReply = z.strictObject({});

/**
 * The fields about the caller in every request that changes something; `context` goes into the
 * audit row.
 */
const changeRequest = z.strictObject({ principal: signedPrincipal, context: callContext });

/**
 * Authenticates callers and says what they may act as. Owns orgs, users, agents, keys and sessions.
 */
export const auth = defineContract('auth', {
  /**
   * Turns an access token, agent key or session token into a principal. Throws `unauthenticated`
   * for a token that is unknown, expired or revoked.
   */
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
    repeatable: true,
  },
  /** Consumes a one-time sign-in link and opens a dashboard session. */
  signIn: {
    request: signInVisit.extend({ token: z.string().min(1).max(200) }),
    response: openedSession,
    errors: ['expired'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  /**
   * Whether a one-time sign-in link would still open a session. The check does not consume the
   * link, because programs that scan mail open links. Only a caller with the link's token can ask.
   */
  checkSignInLink: {
    request: z.strictObject({ token: z.string().min(1).max(200) }),
    response: z.strictObject({ works: z.boolean() }),
    errors: [],
    callers: ['gateway'],
    timeoutMs: 2_000,
    repeatable: true,
  },
  signOut: {
    request: changeRequest,
    response: emptyReply,
    errors: ['unauthenticated', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  /**
   * The present chain of an identity, which is checked again when an approval is decided and when
   * its call is replayed.
   */
  getChain: {
    request: z.strictObject({ orgId: id, identityId: id }),
    response: z.strictObject({
      /**
       * False when the identity or an ancestor is archived, revoked or expired, or when it is an
       * auditor's agent.
       */
      active: z.boolean(),
      /**
       * The worst state in the chain. An archived identity may become active again, and so may an
       * auditor's agent, which counts as archived.
       */
      standing: z.enum(['active', 'archived', 'expired', 'revoked']),
      chain: z.array(chainLink).min(1).max(9),
      role: role.nullable(),
      /**
       * The OAuth clients with `self_approve_enabled`, by the agent in the chain that each client
       * acts as.
       */
      selfApproving: z
        .array(z.strictObject({ agentId: id, clientIds: z.array(clientId).min(1).max(100) }))
        .max(9),
    }),
    errors: ['not_found'],
    callers: ['policy', 'approvals', 'executor'],
    timeoutMs: 2_000,
    repeatable: true,
  },
  getOrgSettings: {
    request: z.strictObject({ orgId: id }),
    response: orgSettings,
    errors: ['not_found'],
    callers: ['approvals', 'policy', 'executor'],
    timeoutMs: 2_000,
    repeatable: true,
  },
  getMe: {
    request: z.strictObject({ principal: signedPrincipal }),
    response: me,
    errors: ['unauthenticated'],
    callers: ['gateway', 'executor'],
    timeoutMs: 2_000,
    repeatable: true,
  },
  listIdentities: {
    request: z.strictObject({ principal: signedPrincipal, page: pageRequest }),
    response: pageSchemaOf(identity),
    errors: ['unauthenticated'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: true,
  },
  getIdentity: {
    request: z.strictObject({ principal: signedPrincipal, id }),
    response: identity,
    errors: ['unauthenticated', 'not_found'],
    callers: ['gateway', 'policy'],
    timeoutMs: 2_000,
    repeatable: true,
  },
  createAgent: {
    request: changeRequest.extend({ body: createAgentBody }),
    response: identity,
    errors: ['unauthenticated', 'conflict', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  createSubagent: {
    request: changeRequest.extend({ body: createSubagentBody }),
    response: identity,
    errors: ['unauthenticated', 'conflict', 'forbidden', 'not_found', 'invalid_params'],
    callers: ['gateway', 'executor'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  updateIdentity: {
    request: changeRequest.extend({ id, body: updateIdentityBody }),
    response: identity,
    errors: ['unauthenticated', 'not_found', 'forbidden', 'conflict', 'invalid_params'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  /**
   * Stops an identity and its subtree. `restoreIdentity` undoes this, for callers whose rank is not
   * below that of the caller who archived the identity.
   */
  archiveIdentity: {
    request: changeRequest.extend({ id }),
    response: identity,
    errors: ['unauthenticated', 'not_found', 'forbidden', 'conflict'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  restoreIdentity: {
    request: changeRequest.extend({ id }),
    response: identity,
    errors: ['unauthenticated', 'not_found', 'forbidden', 'conflict'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  revokeIdentity: {
    request: changeRequest.extend({ id }),
    response: identity,
    errors: ['unauthenticated', 'not_found', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  listAgentKeys: {
    request: z.strictObject({ principal: signedPrincipal, id, page: pageRequest }),
    response: pageSchemaOf(agentKey),
    errors: ['unauthenticated', 'not_found', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: true,
  },
  createAgentKey: {
    request: changeRequest.extend({ id, body: createAgentKeyBody }),
    response: createdAgentKey,
    errors: ['unauthenticated', 'not_found', 'forbidden', 'conflict', 'invalid_params'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  revokeAgentKey: {
    request: changeRequest.extend({ id, keyId: id }),
    response: emptyReply,
    errors: ['unauthenticated', 'not_found', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  /**
   * Whether the caller's own (user, client) binding has `self_approve_enabled`, read from the
   * database on every call. False for callers without such a binding.
   */
  getSelfApproval: {
    request: z.strictObject({ principal: signedPrincipal }),
    response: z.strictObject({ enabled: z.boolean() }),
    errors: ['unauthenticated'],
    callers: ['gateway', 'approvals'],
    timeoutMs: 2_000,
    repeatable: true,
  },
  /**
   * Signs that the owner of a credential allows a call. Only the gateway can ask for it, because
   * only the gateway sees the credential, and only while it serves that request.
   */
  signDecision: {
    request: z.strictObject({
      kind: z.enum(['bearer', 'session']),
      token: z.string().min(1).max(512),
      proposed: proposedDecision,
      /**
       * How long to remember the decision, in the caller's notation; null means the org's setting,
       * unless `forever` is set.
       */
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
    repeatable: true,
  },
  /** The public keys with which current and past decisions can be verified; all orgs share them. */
  listPublicKeys: {
    request: emptyReply,
    response: z.strictObject({
      keys: z
        .array(
          z.strictObject({
            id: z.string().max(100),
            use: z.literal('decision'),
            algorithm: z.literal('Ed25519'),
            /** The 32 bytes of the key as base64url. */
            public_key: z.string().max(100),
            used_from: timestamp,
            /** Null while the key is in use. */
            used_until: timestamp.nullable(),
          }),
        )
        .max(100),
    }),
    errors: [],
    callers: ['gateway'],
    timeoutMs: 2_000,
    repeatable: true,
  },
  ...signInEndpoints,
  ...peopleEndpoints,
  listOauthClients: {
    request: z.strictObject({ principal: signedPrincipal, page: pageRequest }),
    response: pageSchemaOf(oauthClient),
    errors: ['unauthenticated', 'forbidden', 'invalid_request'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: true,
  },
  /**
   * Revokes the client for the caller's org only: the client's bindings, tokens and self-approval
   * switches of that org's users stop working.
   */
  revokeOauthClient: {
    request: changeRequest.extend({ clientId }),
    response: oauthClient,
    errors: ['unauthenticated', 'forbidden', 'not_found'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  listMcpConnections: {
    request: z.strictObject({ principal: signedPrincipal, id, page: pageRequest }),
    response: pageSchemaOf(mcpConnection),
    errors: ['unauthenticated', 'not_found', 'invalid_request'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: true,
  },
  updateMcpConnection: {
    request: changeRequest.extend({ id, clientId, body: updateMcpConnectionBody }),
    response: mcpConnection,
    errors: ['unauthenticated', 'not_found', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  deleteMcpConnection: {
    request: changeRequest.extend({ id, clientId }),
    response: emptyReply,
    errors: ['unauthenticated', 'not_found', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  ping: {
    request: emptyReply,
    response: outboxPing,
    errors: [],
    callers: ['gateway'],
    timeoutMs: 1_000,
    repeatable: false,
  },
});
