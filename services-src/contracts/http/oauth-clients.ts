import { z } from 'zod';

import { clientIdCharactersMax, id, pageSchemaOf, pageQuery, timestamp } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';

/**
 * A UUID, the name of the seeded client, or the https URL of a client-id metadata document. In a
 * path it is one segment, percent-encoded like any other (`https%3A%2F%2Fapp.example%2Fclient.json`).
 */
export const clientId = z.string().min(1).max(clientIdCharactersMax);

const person = z.strictObject({ id, name: z.string() });

/**
 * The binding of one user's OAuth client to the agent that it acts as
 * (docs/reference/identities.md#consent).
 */
const binding = z.strictObject({
  user: person,
  agent: person,
  self_approve_enabled: z.boolean(),
  created_at: timestamp,
  last_used_at: timestamp.nullable(),
});

/**
 * An OAuth client as one org sees it: all orgs share the clients, but each org has its own
 * bindings.
 */
export const oauthClient = z.strictObject({
  id: clientId,
  kind: z.enum(['registered', 'metadata_document', 'seeded']),
  name: z.string(),
  software_id: z.string().nullable(),
  redirect_hosts: z.array(z.string()).max(20),
  created_at: timestamp,
  /** The last use by any user of the org. */
  last_used_at: timestamp.nullable(),
  /** When an admin revoked it for the org. */
  revoked_at: timestamp.nullable(),
  bindings_count: z.int(),
  /** The latest twenty bindings. */
  bindings: z.array(binding).max(20),
});
export type OauthClient = z.infer<typeof oauthClient>;

/** An MCP connection: an OAuth client of the calling user, bound to one of that user's agents. */
export const mcpConnection = z.strictObject({
  client_id: clientId,
  client_name: z.string(),
  agent_id: id,
  self_approve_enabled: z.boolean(),
  created_at: timestamp,
  last_used_at: timestamp.nullable(),
});
export type McpConnection = z.infer<typeof mcpConnection>;

export const updateMcpConnectionBody = z.strictObject({ self_approve_enabled: z.boolean() });

const agentParams = z.strictObject({ id });
const connectionParams = z.strictObject({ id, client_id: clientId });

export const oauthClientRoutes = defineRoutes({
  listOauthClients: {
    method: 'GET',
    path: '/v1/oauth/clients',
    summary: 'OAuth clients that somebody of the org has authorised (admins, auditors)',
    tag: 'OAuth clients',
    access: 'user',
    query: pageQuery,
    responses: { 200: pageSchemaOf(oauthClient) },
    serves: 'auth.listOauthClients',
    audit: 'none',
  },
  revokeOauthClient: {
    method: 'POST',
    path: '/v1/oauth/clients/{id}/revoke',
    summary: 'Shut an OAuth client out of the org, with every token it holds there (admins)',
    tag: 'OAuth clients',
    access: 'user',
    params: z.strictObject({ id: clientId }),
    responses: { 200: oauthClient },
    serves: 'auth.revokeOauthClient',
    audit: ['oauth_client.revoked'],
  },
  listMcpConnections: {
    method: 'GET',
    path: '/v1/identities/{id}/mcp-connections',
    summary: "OAuth clients that act as one of the caller's own agents",
    tag: 'OAuth clients',
    access: 'user',
    params: agentParams,
    query: pageQuery,
    responses: { 200: pageSchemaOf(mcpConnection) },
    serves: 'auth.listMcpConnections',
    audit: 'none',
  },
  updateMcpConnection: {
    method: 'PATCH',
    path: '/v1/identities/{id}/mcp-connections/{client_id}',
    summary: 'Whether this client may decide its own approvals',
    tag: 'OAuth clients',
    access: 'user',
    params: connectionParams,
    body: updateMcpConnectionBody,
    responses: { 200: mcpConnection },
    serves: 'auth.updateMcpConnection',
    audit: ['mcp_connection.changed'],
  },
  deleteMcpConnection: {
    method: 'DELETE',
    path: '/v1/identities/{id}/mcp-connections/{client_id}',
    summary: 'Part a client from the agent; its next sign-in asks for consent again',
    tag: 'OAuth clients',
    access: 'user',
    params: connectionParams,
    responses: { 204: null },
    serves: 'auth.deleteMcpConnection',
    audit: ['mcp_connection.changed'],
  },
});
