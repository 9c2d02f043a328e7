import { z } from 'zod';

import { accountValue } from '../account-value.ts';
import { tokenActor, oauthScope } from '../oauth-provider.ts';
import { id, name, pageSchemaOf, pageQuery, tier, timestamp } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';
import { plainText } from './plain-text.ts';
import { wantedTemplate } from './wanted-template.ts';

export const connectionStatus = z.enum(['pending', 'active', 'needs_reauth', 'revoked']);

/**
 * A connection: access to a person's account at a provider; no answer contains a token
 * (docs/reference/credentials.md#connections).
 */
export const connection = z.strictObject({
  id,
  name: z.string(),
  /** Key of the provider (`GET /v1/oauth-apps`). */
  provider: z.string(),
  /** Key of the template for which the connection was requested, if any. */
  template: z.string().nullable(),
  tier,
  owner_id: id.nullable(),
  /** The provider's name for the account. */
  account_label: z.string().nullable(),
  /**
   * The site, company or tenant to which the connection gives access, if an account can have
   * several; null otherwise.
   */
  account_value: accountValue.nullable().optional(),
  /** Who acts by the token, if the provider issues several kinds of tokens; null otherwise. */
  acts_as: tokenActor.nullable().optional(),
  /** The scopes that the provider granted, which may be fewer than were requested. */
  granted_scopes: z.array(z.string()),
  /** Scopes that the granted ones imply, as far as the provider's definition says. */
  implied_scopes: z.array(z.string()).optional(),
  /** The granted scopes under the provider's own names; null if these are the names above. */
  reported_scopes: z.array(z.string()).nullable().optional(),
  /** The only hosts to which the connection's token is ever sent. */
  hosts: z.array(z.string()),
  status: connectionStatus,
  /** When the access token expires; it is refreshed before that if the provider allows it. */
  expires_at: timestamp.nullable(),
  last_refreshed_at: timestamp.nullable(),
  /** When the person granted the access last; null before that, and for grants of release 0.1.0. */
  granted_at: timestamp.nullable().optional(),
  /**
   * When the provider refused the token with 401, since the person granted it; null once a call
   * with the token succeeds. A refused token is still used for calls.
   */
  refused_at: timestamp.nullable().optional(),
  /**
   * Since when every attempt to refresh the access token has failed; null when the last one succeeded
   * or none was made.
   */
  refresh_failing_since: timestamp.nullable().optional(),
  created_at: timestamp,
});
export type Connection = z.infer<typeof connection>;

export const requestedConnection = connection.extend({
  /**
   * A page of the gateway that only the connection's owner can pass; from there the browser goes to
   * the provider.
   */
  authorization_url: z.string(),
  /** The request that its user sees (docs/reference/requests.md#connection), when an agent asked. */
  request_id: id.optional(),
});

export const connectionFields = {
  provider: name.optional(),
  template: wantedTemplate.optional(),
  connection: id.optional(),
  /**
   * With `template`: the security scheme to connect with; by default the template's first scheme
   * that uses OAuth.
   */
  scheme: z.string().min(1).max(100).optional(),
  /**
   * With `template`, the default is the scopes that the template's reads need; otherwise the
   * provider's usual scopes.
   */
  scopes: z.array(oauthScope).max(100).optional(),
  name: name.optional(),
  tier: tier.optional(),
  /** Why an agent asks; its user reads it on the page of the request. */
  reason: plainText.optional(),
} as const;

/** Refuses fields that do not go together. */
export function requireOneAccount<Body extends z.ZodObject<typeof connectionFields>>(
  body: Body,
): Body {
  return body
    .refine(
      ({ provider, template, connection: known }) =>
        [provider, template, known].filter((each) => each !== undefined).length === 1,
      'needs one of provider, template and connection',
    )
    .refine(
      ({ scheme, template }) => scheme === undefined || template !== undefined,
      'takes scheme with template only',
    )
    .refine(
      ({ connection: known, name: called, tier: wanted }) =>
        known === undefined || (called ?? wanted) === undefined,
      'with connection takes neither name nor tier',
    );
}

/**
 * Requests a new connection, by provider or by template. With the id of an existing connection, or
 * with its name at the same provider, it requests more scopes for it or repairs it.
 */
export const createConnectionBody = requireOneAccount(z.strictObject(connectionFields));
export type CreateConnectionBody = z.infer<typeof createConnectionBody>;

const idParams = z.strictObject({ id });

export const connectionRoutes = defineRoutes({
  listConnections: {
    method: 'GET',
    path: '/v1/connections',
    summary: 'Connections the caller can use, without their tokens',
    tag: 'Connections',
    access: 'agents',
    query: pageQuery,
    responses: { 200: pageSchemaOf(connection) },
    serves: 'executor.listConnections',
    audit: 'none',
  },
  createConnection: {
    method: 'POST',
    path: '/v1/connections',
    summary: 'Ask for access to an account; its owner completes it at authorization_url',
    tag: 'Connections',
    access: 'agents',
    body: createConnectionBody,
    responses: { 201: requestedConnection },
    serves: 'executor.createConnection',
    audit: ['connection.requested', 'request.raised'],
  },
  getConnection: {
    method: 'GET',
    path: '/v1/connections/{id}',
    summary: 'One connection, without its tokens',
    tag: 'Connections',
    access: 'user',
    params: idParams,
    responses: { 200: connection },
    serves: 'executor.getConnection',
    audit: 'none',
  },
  refreshConnection: {
    method: 'POST',
    path: '/v1/connections/{id}/refresh',
    summary: 'Ask the provider for a new access token now',
    tag: 'Connections',
    access: 'user',
    params: idParams,
    responses: { 200: connection },
    serves: 'executor.refreshConnection',
    audit: ['connection.refreshed', 'connection.needs_reauth'],
  },
  deleteConnection: {
    method: 'DELETE',
    path: '/v1/connections/{id}',
    summary: 'Revoke a connection: its tokens are erased here, and ended at the provider if it can',
    tag: 'Connections',
    access: 'user',
    params: idParams,
    responses: { 204: null },
    serves: 'executor.deleteConnection',
    audit: ['connection.revoked'],
  },
});
