import { z } from 'zod';

import { oauthProvider, providerUrl } from '../oauth-provider.ts';
import { refusalOfHeaderName } from '../request-headers.ts';
import { host, name, timestamp } from '../vocabulary.ts';
import { oauthClientText } from '../oauth-client-text.ts';
import { defineRoutes } from './define.ts';

/** What may be wrong with an address of a provider; it refuses nothing. */
const oauthAppWarning = z.strictObject({ url: z.string(), message: z.string() });
export type OauthAppWarning = z.infer<typeof oauthAppWarning>;

/**
 * An OAuth app: the OAuth client that an org is registered as at a provider, and the data to enter
 * at the provider.
 */
export const oauthApp = z.strictObject({
  provider: z.string(),
  title: z.string(),
  /** Where the app is defined; `none`: it is not set up, so no connection can be made. */
  source: z.enum(['none', 'environment', 'org']),
  client_id: z.string().nullable(),
  has_client_secret: z.boolean(),
  /** The redirect URI that must be entered at the provider when the app is registered. */
  redirect_uri: z.string(),
  /** The provider's page for registering an app, if known. */
  app_page: z.string().nullable(),
  /** What an admin does on that page, in order. */
  steps: z.array(z.string()).max(10).optional(),
  /** Whether the provider gives a client secret with the client id. */
  needs_client_secret: z.boolean().optional(),
  /** The variables whose values an admin gives with the app. */
  needed_variables: z
    .array(
      z.strictObject({
        name: z.string(),
        description: z.string(),
        default: z.string().nullable(),
      }),
    )
    .max(50)
    .optional(),
  /** Values for the `{…}` parts of the provider's URLs. */
  variables: z.record(z.string(), z.string()),
  /** Set for a provider that the org defined itself. */
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
  /**
   * In the answer to setting up a provider with variables: the provider's addresses that seem
   * wrong.
   */
  warnings: z.array(oauthAppWarning).max(2).optional(),
});
export type OauthApp = z.infer<typeof oauthApp>;

const providerShape = oauthProvider.shape;

/** Headers that the gateway writes into every request to a provider, besides connection headers. */
const writtenHeaders = ['authorization', 'cookie', 'user-agent'];
/** Further headers that the gateway writes into token requests. */
const writtenTokenHeaders = ['accept', 'content-type'];
const isWrittenHeader = (name: string) =>
  refusalOfHeaderName(name) !== undefined || writtenHeaders.includes(name.toLowerCase());
const headersRefusal = 'must not hold a header that the gateway writes';
/** The parameters that the gateway writes into an authorization request (RFC 6749 §4.1.1). */
const writtenParameters = [
  'client_id',
  'code_challenge',
  'code_challenge_method',
  'redirect_uri',
  'response_type',
  'state',
];
/** A year, in seconds. */
const lifetimeSecondsMax = 31_536_000;

/** How a provider deviates from RFC 6749. The fields are those of the built-in providers. */
const deviations = {
  refresh_url: providerShape.refresh_url,
  /** Instead of `revocation_url`. */
  revocation: providerShape.revocation,
  token_request: providerShape.token_request.unwrap().optional(),
  token_headers: providerShape.token_headers
    .unwrap()
    .refine(
      (headers) =>
        Object.keys(headers).every(
          (name) => !isWrittenHeader(name) && !writtenTokenHeaders.includes(name.toLowerCase()),
        ),
      headersRefusal,
    )
    .optional(),
  token_parameters: providerShape.token_parameters.unwrap().optional(),
  token_answer: providerShape.token_answer
    .unwrap()
    .refine(({ expires_in: seconds = 0 }) => seconds <= lifetimeSecondsMax, {
      path: ['expires_in'],
      message: `must be at most ${lifetimeSecondsMax}, which is a year`,
    })
    .optional(),
  dead_grant_errors: providerShape.dead_grant_errors.unwrap().optional(),
  scope_separator: providerShape.scope_separator.unwrap().optional(),
  scope_parameter: providerShape.scope_parameter
    .unwrap()
    .regex(/^[\w.-]+$/, 'must be the name of a parameter')
    .refine((name) => !writtenParameters.includes(name), {
      message: `must not be a parameter that the gateway writes (${writtenParameters.join(', ')})`,
    })
    .optional(),
  /**
   * `opaque` when the provider does not tell what a token may do; no scope then counts as missing.
   */
  scopes: z.literal('opaque').optional(),
  authorize_parameters: providerShape.authorize_parameters.unwrap().optional(),
  /** Instead of `userinfo_url`. */
  account: providerShape.account
    .unwrap()
    .refine(({ headers }) => !Object.keys(headers).some(isWrittenHeader), {
      path: ['headers'],
      message: headersRefusal,
    })
    .optional(),
  host_of_answer: providerShape.host_of_answer,
  app_page: providerShape.app_page,
  steps: providerShape.steps,
  /**
   * The variables for `{…}` parts of the addresses and hosts. Values are letters, digits, dots and
   * hyphens.
   */
  variables: z
    .record(
      z.string().regex(/^[a-z][a-z_]{0,30}$/),
      z.strictObject({ description: z.string().max(300), default: z.string().max(200).optional() }),
    )
    .optional(),
};

/** A provider that is not built in: a self-hosted product, or any OAuth 2.0 server. */
export const ownProvider = z
  .strictObject({
    title: z.string().min(1).max(100),
    /**
     * The provider's metadata is read once, when the definition is saved (RFC 8414, OpenID Connect
     * Discovery); URLs that this definition contains take precedence.
     */
    issuer: providerUrl.optional(),
    /**
     * The endpoint of an MCP server, whose metadata names its authorization server (RFC 9728). It
     * can be given instead of `issuer`.
     */
    mcp_server: providerUrl.optional(),
    authorization_url: providerUrl.optional(),
    token_url: providerUrl.optional(),
    revocation_url: providerUrl.optional(),
    userinfo_url: providerUrl.optional(),
    pkce: z.boolean().optional(),
    client_authentication: oauthProvider.shape.client_authentication.optional(),
    scopes_always: oauthProvider.shape.scopes_always.unwrap().optional(),
    scopes_default: oauthProvider.shape.scopes_default.unwrap().optional(),
    /**
     * The hosts to which the provider's access tokens may be sent; by default the MCP server's
     * host.
     */
    hosts: z.array(host).min(1).max(50).optional(),
    ...deviations,
  })
  .refine(
    (providerFields) =>
      providerFields.revocation === undefined || providerFields.revocation_url === undefined,
    {
      path: ['revocation'],
      message: 'cannot be given together with revocation_url',
    },
  )
  .refine(
    (providerFields) =>
      providerFields.account === undefined || providerFields.userinfo_url === undefined,
    {
      path: ['account'],
      message: 'cannot be given together with userinfo_url',
    },
  )
  .refine(
    ({ issuer, mcp_server: server, ...own }) =>
      [issuer, server].filter((each) => each !== undefined).length === 1 ||
      (server === undefined && own.authorization_url !== undefined && own.token_url !== undefined),
    'needs issuer, or mcp_server, or authorization_url and token_url',
  )
  .refine(
    (providerFields) =>
      providerFields.hosts !== undefined || providerFields.mcp_server !== undefined,
    {
      path: ['hosts'],
      message: 'is required',
    },
  );
export type OwnProvider = z.infer<typeof ownProvider>;

export const oauthAppBody = z
  .strictObject({
    /**
     * Can be left out when the provider of `definition` lets clients register themselves (RFC
     * 7591).
     */
    client_id: oauthClientText.max(500).optional(),
    /** Left out for a public client. No answer contains it. */
    client_secret: oauthClientText.max(2000).optional(),
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

const providerParams = z.strictObject({ provider: name });

export const oauthAppRoutes = defineRoutes({
  listOauthApps: {
    method: 'GET',
    path: '/v1/oauth-apps',
    summary: 'Providers, and whether the org can connect to them',
    tag: 'Connections',
    access: 'user',
    responses: { 200: z.strictObject({ items: z.array(oauthApp).max(500) }) },
    serves: 'executor.listOauthApps',
    audit: 'none',
  },
  getOauthApp: {
    method: 'GET',
    path: '/v1/oauth-apps/{provider}',
    summary: 'What the org is known as at a provider, without the client secret',
    tag: 'Connections',
    access: 'user',
    params: providerParams,
    responses: { 200: oauthApp },
    serves: 'executor.getOauthApp',
    audit: 'none',
  },
  putOauthApp: {
    method: 'PUT',
    path: '/v1/oauth-apps/{provider}',
    summary: 'Set up the app of a provider, or a provider of the org (admins)',
    tag: 'Connections',
    access: 'user',
    params: providerParams,
    body: oauthAppBody,
    responses: { 200: oauthApp },
    serves: 'executor.putOauthApp',
    audit: ['oauth_app.changed'],
  },
  deleteOauthApp: {
    method: 'DELETE',
    path: '/v1/oauth-apps/{provider}',
    summary: 'Remove the app of a provider; its connections can no longer be refreshed (admins)',
    tag: 'Connections',
    access: 'user',
    params: providerParams,
    responses: { 204: null },
    serves: 'executor.deleteOauthApp',
    audit: ['oauth_app.changed'],
  },
});
