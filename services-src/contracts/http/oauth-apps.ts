import { z } from 'zod';

import { oauthProvider, providerUrl } from '../oauth-provider.ts';
import { host, name, timestamp } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';

/** What an org is known as at a provider, and what is to be entered there. */
export const oauthApp = z.strictObject({
  provider: z.string(),
  title: z.string(),
  /** Who set it up; `none`: nobody yet, so that no connection can be made. */
  source: z.enum(['none', 'environment', 'org']),
  client_id: z.string().nullable(),
  has_client_secret: z.boolean(),
  /** To be entered at the provider when the app is registered there. */
  redirect_uri: z.string(),
  /** Where an app is registered, if known. */
  app_page: z.string().nullable(),
  /** Values for the `{…}` parts of the provider's addresses. */
  variables: z.record(z.string(), z.string()),
  /** Of a provider of the org's own. */
  definition: z
    .strictObject({
      title: z.string(),
      issuer: z.string().nullable(),
      authorization_url: z.string(),
      token_url: z.string(),
      revocation_url: z.string().nullable(),
      hosts: z.array(z.string()),
    })
    .nullable(),
  updated_at: timestamp.nullable(),
});
export type OauthApp = z.infer<typeof oauthApp>;

/** A provider that is not built in: a self-hosted product, or any OAuth 2.0 server. */
export const ownProvider = z
  .strictObject({
    title: z.string().min(1).max(100),
    /** Its metadata is read once, now (RFC 8414, OpenID Connect Discovery); addresses given below win. */
    issuer: providerUrl.optional(),
    /** The endpoint of an MCP server, which says itself who gives out its tokens (RFC 9728); in place of `issuer`. */
    mcp_server: providerUrl.optional(),
    authorization_url: providerUrl.optional(),
    token_url: providerUrl.optional(),
    revocation_url: providerUrl.optional(),
    userinfo_url: providerUrl.optional(),
    pkce: z.boolean().optional(),
    client_authentication: oauthProvider.shape.client_authentication.optional(),
    scopes_always: oauthProvider.shape.scopes_always.unwrap().optional(),
    scopes_default: oauthProvider.shape.scopes_default.unwrap().optional(),
    /** Where its access tokens may be sent; by default to the MCP server. */
    hosts: z.array(host).min(1).max(50).optional(),
  })
  .refine(
    ({ issuer, mcp_server: server, ...own }) =>
      [issuer, server].filter((each) => each !== undefined).length === 1 ||
      (server === undefined && own.authorization_url !== undefined && own.token_url !== undefined),
    'needs issuer, or mcp_server, or authorization_url and token_url',
  )
  .refine((own) => own.hosts !== undefined || own.mcp_server !== undefined, {
    path: ['hosts'],
    message: 'is required',
  });
export type OwnProvider = z.infer<typeof ownProvider>;

export const oauthAppBody = z
  .strictObject({
    /** Leave out where the provider of `definition` registers clients by itself (RFC 7591). */
    client_id: z
      .string()
      .min(1)
      .max(500)
      .regex(/^[\x20-\x7e]+$/, 'must be printable ASCII')
      .optional(),
    /** Leave out for a public client. Never returned. */
    client_secret: z
      .string()
      .min(1)
      .max(2000)
      .regex(/^[\x20-\x7e]+$/, 'must be printable ASCII')
      .optional(),
    variables: z.record(z.string().max(40), z.string().min(1).max(200)).optional(),
    definition: ownProvider.optional(),
  })
  .refine(
    ({ client_id: clientId, client_secret: secret, definition }) =>
      clientId !== undefined ||
      (secret === undefined && (definition?.issuer ?? definition?.mcp_server) !== undefined),
    { path: ['client_id'], message: 'is required' },
  );
export type OauthAppBody = z.infer<typeof oauthAppBody>;

const byProvider = z.strictObject({ provider: name });

export const oauthAppRoutes = defineRoutes({
  listOauthApps: {
    method: 'GET',
    path: '/v1/oauth-apps',
    summary: 'Providers, and whether the org can connect to them',
    tag: 'Connections',
    access: 'user',
    responses: { 200: z.strictObject({ items: z.array(oauthApp).max(500) }) },
    errors: [],
    audit: 'none',
  },
  getOauthApp: {
    method: 'GET',
    path: '/v1/oauth-apps/{provider}',
    summary: 'What the org is known as at a provider, without the client secret',
    tag: 'Connections',
    access: 'user',
    params: byProvider,
    responses: { 200: oauthApp },
    errors: ['not_found'],
    audit: 'none',
  },
  putOauthApp: {
    method: 'PUT',
    path: '/v1/oauth-apps/{provider}',
    summary: 'Set up the app of a provider, or a provider of the org (admins)',
    tag: 'Connections',
    access: 'user',
    params: byProvider,
    body: oauthAppBody,
    responses: { 200: oauthApp },
    errors: ['forbidden', 'conflict', 'invalid_params'],
    audit: ['oauth_app.changed'],
  },
  deleteOauthApp: {
    method: 'DELETE',
    path: '/v1/oauth-apps/{provider}',
    summary: 'Remove the app of a provider; its connections can no longer be refreshed (admins)',
    tag: 'Connections',
    access: 'user',
    params: byProvider,
    responses: { 204: null },
    errors: ['forbidden', 'not_found', 'conflict'],
    audit: ['oauth_app.changed'],
  },
});
