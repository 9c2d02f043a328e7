import { z } from 'zod';

import {
  givenTime,
  id,
  identityKind,
  name,
  pageSchemaOf,
  pageQuery,
  role,
  scope,
  timestamp,
} from '../vocabulary.ts';
import { defineRoutes } from './define.ts';

/** A user, agent or subagent (docs/reference/identities.md#kinds). */
export const identity = z.strictObject({
  id,
  org_id: id,
  kind: identityKind,
  name: z.string(),
  parent_id: id.nullable(),
  owner_id: id,
  depth: z.int(),
  path: z.array(z.string()),
  /**
   * The display name of the person at the start of `path`, to show beside the path and never in
   * place of it. Absent while the person has none.
   */
  display_name: z.string().optional(),
  inherit_permissions: z.boolean(),
  auto_call_on_approve: z.boolean(),
  status: z.enum(['active', 'archived', 'revoked']),
  created_at: timestamp,
  last_active_at: timestamp.nullable(),
  expires_at: timestamp.nullable(),
  /** Present for users only. */
  email: z.string().nullable().optional(),
  role: role.optional(),
});
export type Identity = z.infer<typeof identity>;

export const me = identity.extend({
  org: z.strictObject({ id, name: z.string() }),
  scopes: z.array(scope),
  credential: z.strictObject({ kind: z.string(), id }),
});
export type Me = z.infer<typeof me>;

export const createAgentBody = z.strictObject({
  name,
  auto_call_on_approve: z.boolean().optional(),
});
export const createSubagentBody = z.strictObject({
  name,
  parent_id: id.optional(),
  inherit_permissions: z.boolean().optional(),
  /** `<n>(s|m|h|d)`, combinable: `24h`, `1d12h`. */
  ttl: z.string().max(40).optional(),
});

/** The body has no `parent_id`: an identity never gets another parent. */
export const updateIdentityBody = z
  .strictObject({
    name: name.optional(),
    auto_call_on_approve: z.boolean().optional(),
    /** Null means that the identity does not expire. */
    expires_at: givenTime.nullable().optional(),
    /** Allowed for subagents only. */
    inherit_permissions: z.boolean().optional(),
  })
  .refine((body) => Object.keys(body).length > 0, 'names nothing to change');
export type UpdateIdentityBody = z.infer<typeof updateIdentityBody>;

export const agentKey = z.strictObject({
  id,
  identity_id: id,
  name: z.string(),
  /** The first characters of the agent key, by which a person can recognise it. */
  hint: z.string(),
  created_at: timestamp,
  expires_at: timestamp.nullable(),
  last_used_at: timestamp.nullable(),
});
export type PublicAgentKey = z.infer<typeof agentKey>;
export const createdAgentKey = agentKey.extend({
  /** The agent key itself; no later answer shows it. */
  key: z.string(),
});
export type CreatedAgentKey = z.infer<typeof createdAgentKey>;
export const createAgentKeyBody = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(100)
    .regex(/^\P{Cc}*$/u, 'must hold no control characters'),
  expires_at: givenTime.optional(),
});

const idParams = z.strictObject({ id });

export const identityRoutes = defineRoutes({
  getMe: {
    method: 'GET',
    path: '/v1/identities/me',
    summary: "The caller's own identity",
    tag: 'Identities',
    access: 'any',
    responses: { 200: me },
    serves: 'auth.getMe',
    audit: 'none',
  },
  listIdentities: {
    method: 'GET',
    path: '/v1/identities',
    summary: 'Identities the caller may see: the org for admins and auditors, else its own subtree',
    tag: 'Identities',
    access: 'agents',
    query: pageQuery,
    responses: { 200: pageSchemaOf(identity) },
    serves: 'auth.listIdentities',
    audit: 'none',
  },
  getIdentity: {
    method: 'GET',
    path: '/v1/identities/{id}',
    summary: 'One identity',
    tag: 'Identities',
    access: 'agents',
    params: idParams,
    responses: { 200: identity },
    serves: 'auth.getIdentity',
    audit: 'none',
  },
  createAgent: {
    method: 'POST',
    path: '/v1/identities/agents',
    summary: 'Create an agent owned by the signed-in user',
    tag: 'Identities',
    access: 'user',
    body: createAgentBody,
    responses: { 201: identity },
    serves: 'auth.createAgent',
    audit: ['identity.created'],
  },
  createSubagent: {
    method: 'POST',
    path: '/v1/identities/subagents',
    summary: 'Create a subagent below an agent',
    tag: 'Identities',
    access: 'agents',
    body: createSubagentBody,
    responses: { 201: identity },
    serves: 'auth.createSubagent',
    audit: ['identity.created'],
  },
  updateIdentity: {
    method: 'PATCH',
    path: '/v1/identities/{id}',
    summary: 'Change the name, the end, or what an agent or subagent does by itself',
    tag: 'Identities',
    access: 'agents',
    params: idParams,
    body: updateIdentityBody,
    responses: { 200: identity },
    serves: 'auth.updateIdentity',
    audit: ['identity.changed'],
  },
  archiveIdentity: {
    method: 'POST',
    path: '/v1/identities/{id}/archive',
    summary: 'Stop an identity and its subtree until it is restored',
    tag: 'Identities',
    access: 'agents',
    params: idParams,
    responses: { 200: identity },
    serves: 'auth.archiveIdentity',
    audit: ['identity.changed'],
  },
  restoreIdentity: {
    method: 'POST',
    path: '/v1/identities/{id}/restore',
    summary: 'Let an archived identity act again',
    tag: 'Identities',
    access: 'agents',
    params: idParams,
    responses: { 200: identity },
    serves: 'auth.restoreIdentity',
    audit: ['identity.changed'],
  },
  revokeIdentity: {
    method: 'POST',
    path: '/v1/identities/{id}/revoke',
    summary: 'Revoke an identity, its subtree and their keys, for good',
    tag: 'Identities',
    access: 'agents',
    params: idParams,
    responses: { 200: identity },
    serves: 'auth.revokeIdentity',
    audit: ['identity.revoked'],
  },
  listAgentKeys: {
    method: 'GET',
    path: '/v1/identities/{id}/keys',
    summary: 'Keys of an agent or subagent, without their values',
    tag: 'Identities',
    access: 'agents',
    params: idParams,
    query: pageQuery,
    responses: { 200: pageSchemaOf(agentKey) },
    serves: 'auth.listAgentKeys',
    audit: 'none',
  },
  createAgentKey: {
    method: 'POST',
    path: '/v1/identities/{id}/keys',
    summary: 'Create an agent key; its value is in this answer only',
    tag: 'Identities',
    access: 'agents',
    params: idParams,
    body: createAgentKeyBody,
    responses: { 201: createdAgentKey },
    serves: 'auth.createAgentKey',
    audit: ['agent_key.created'],
  },
  revokeAgentKey: {
    method: 'DELETE',
    path: '/v1/identities/{id}/keys/{key_id}',
    summary: 'Revoke an agent key',
    tag: 'Identities',
    access: 'agents',
    params: z.strictObject({ id, key_id: id }),
    responses: { 204: null },
    serves: 'auth.revokeAgentKey',
    audit: ['agent_key.revoked'],
  },
  signOut: {
    method: 'POST',
    path: '/v1/sign-out',
    summary: 'End the dashboard session',
    tag: 'Identities',
    access: 'user',
    responses: { 204: null },
    serves: 'auth.signOut',
    audit: ['session.ended'],
  },
});
