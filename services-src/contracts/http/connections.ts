import { z } from 'zod';

import { oauthScope } from '../oauth-provider.ts';
import { id, name, pageSchemaOf, pageQuery, tier, timestamp } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';

export const connectionStatus = z.enum(['pending', 'active', 'needs_reauth', 'revoked']);

/** Access to a person's account at a provider; no answer carries a token (docs/reference/credentials.md#connections). */
export const connection = z.strictObject({
  id,
  name: z.string(),
  /** Key of the provider (`GET /v1/oauth-apps`). */
  provider: z.string(),
  /** Key of the template it was asked for by, if any. */
  template: z.string().nullable(),
  tier,
  owner_id: id.nullable(),
  /** What the provider calls the account. */
  account_label: z.string().nullable(),
  /** What the provider granted, which may be less than was asked for. */
  granted_scopes: z.array(z.string()),
  /** The only hosts its token is ever sent to. */
  hosts: z.array(z.string()),
  status: connectionStatus,
  /** Of the access token; it is refreshed before, where the provider lets it. */
  expires_at: timestamp.nullable(),
  last_refreshed_at: timestamp.nullable(),
  created_at: timestamp,
});
export type Connection = z.infer<typeof connection>;

export const askedConnection = connection.extend({
  /** A page of ours that only its owner can pass; from there the browser goes to the provider. */
  authorization_url: z.string(),
});

/**
 * A new connection, by provider or by template; or more scopes, or a repair, for the one with this
 * id, or with this name at the same provider.
 */
export const createConnectionBody = z
  .strictObject({
    provider: name.optional(),
    template: name.optional(),
    connection: id.optional(),
    scopes: z.array(oauthScope).max(100).optional(),
    name: name.optional(),
    tier: tier.optional(),
  })
  .refine(
    ({ provider, template, connection: known }) =>
      [provider, template, known].filter((each) => each !== undefined).length === 1,
    'needs one of provider, template and connection',
  )
  .refine(
    (body) => body.connection === undefined || (body.name ?? body.tier) === undefined,
    'with connection takes neither name nor tier',
  );
export type CreateConnectionBody = z.infer<typeof createConnectionBody>;

const byId = z.strictObject({ id });

export const connectionRoutes = defineRoutes({
  listConnections: {
    method: 'GET',
    path: '/v1/connections',
    summary: 'Connections the caller can use, without their tokens',
    tag: 'Connections',
    access: 'agents',
    query: pageQuery,
    responses: { 200: pageSchemaOf(connection) },
    errors: [],
    audit: 'none',
  },
  createConnection: {
    method: 'POST',
    path: '/v1/connections',
    summary: 'Ask for access to an account; its owner completes it at authorization_url',
    tag: 'Connections',
    access: 'agents',
    body: createConnectionBody,
    responses: { 201: askedConnection },
    errors: ['forbidden', 'not_found', 'conflict', 'invalid_params'],
    audit: ['connection.requested'],
  },
  getConnection: {
    method: 'GET',
    path: '/v1/connections/{id}',
    summary: 'One connection, without its tokens',
    tag: 'Connections',
    access: 'user',
    params: byId,
    responses: { 200: connection },
    errors: ['not_found'],
    audit: 'none',
  },
  refreshConnection: {
    method: 'POST',
    path: '/v1/connections/{id}/refresh',
    summary: 'Ask the provider for a new access token now',
    tag: 'Connections',
    access: 'user',
    params: byId,
    responses: { 200: connection },
    errors: [
      'not_found',
      'forbidden',
      'needs_authentication',
      'reauth_required',
      'upstream_unreachable',
      'upstream_refused_address',
      'upstream_incomplete',
      'upstream_timeout',
    ],
    audit: ['connection.refreshed', 'connection.needs_reauth'],
  },
  deleteConnection: {
    method: 'DELETE',
    path: '/v1/connections/{id}',
    summary: 'Revoke a connection: its tokens are erased here, and ended at the provider if it can',
    tag: 'Connections',
    access: 'user',
    params: byId,
    responses: { 204: null },
    errors: ['not_found', 'forbidden'],
    audit: ['connection.revoked'],
  },
});
