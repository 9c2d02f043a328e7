import { z } from 'zod';

import { host, name } from './vocabulary.ts';

/**
 * A URL with `{variable}` parts. Egress checks the scheme and host of the result when it is used.
 */
export const providerUrl = z
  .string()
  .max(2000)
  .regex(/^https?:\/\/[^\s#/@]+(\/[^\s#]*)?$/, 'must be an http(s) URL without user and fragment');
const parameters = z.record(z.string().max(100), z.string().max(500));
/** A place in a JSON document: member names joined by dots. */
const dottedPath = z.string().regex(/^[\w-]+(\.[\w-]+){0,5}$/);
export const oauthScope = z
  .string()
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,300}$/, 'is not a scope (RFC 6749 §3.3)');

/** Who acts by a token: a person, a bot of the app, or the app itself. */
export const tokenActor = z.enum(['user', 'bot', 'app']);
export type TokenActor = z.infer<typeof tokenActor>;

/** What the provider says about one scope. */
const scopeRule = z.strictObject({
  /** The scopes that a token with this scope also has. */
  implies: z.array(oauthScope).min(1).max(100).optional(),
  /** If set, only tokens of this kind of actor (person, bot or app) can have this scope. */
  acts_as: tokenActor.optional(),
  /** True when the provider reviews apps before they may ask for it. */
  restricted: z.literal(true).optional(),
  /**
   * The names under which the provider reports the scope, if they are not the name to request it
   * by.
   */
  reported_as: z.array(oauthScope).min(1).max(5).optional(),
});

/** How to find out which account an access token belongs to. */
const account = z.strictObject({
  /** `answer`: read the account from the token answer; a URL: request it with the new token. */
  url: z.union([z.literal('answer'), providerUrl]),
  method: z.enum(['GET', 'POST']).default('GET'),
  headers: parameters.default({}),
  /** The JSON body of the request; when set, the request is a POST (GraphQL). */
  body: z.string().max(1000).optional(),
  /**
   * The member that identifies the account even after the account was renamed. Several members
   * identify it together, such as a person in one workspace.
   */
  id: z.union([dottedPath, z.array(dottedPath).min(2).max(3)]),
  /**
   * The member that `id` named in an earlier release. A connection stored with the value of that
   * member still counts as a connection to this account, and gets the new id when it is repaired.
   */
  id_before: dottedPath.optional(),
  /** Members with a name of the account that its owner knows; the first that is present is used. */
  label: z.array(dottedPath).min(1).max(5),
});

/** The members of the token endpoint's answers that contain the token and its properties. */
const tokenAnswer = z.strictObject({
  /**
   * The member of the token answer that contains the token. The answer to a refresh may contain
   * it at the top level instead.
   */
  at: dottedPath.optional(),
  /**
   * The member below `at` that lists the granted scopes. Without it, the requested scopes count
   * as granted (RFC 6749 §5.1).
   */
  scope: dottedPath.default('scope'),
  /** The member that contains the error of a refusal, whatever the HTTP status is. */
  error: dottedPath.default('error'),
  /** The lifetime, in seconds, that is assumed for a token when the token answer states none. */
  expires_in: z.int().min(1).optional(),
});

/**
 * One OAuth 2.0 provider as data: RFC 6749 with the provider's deviations. The files of
 * `oauth-providers/` and the definitions of orgs have this shape.
 */
export const oauthProvider = z.strictObject({
  key: name,
  title: z.string().min(1).max(100),
  authorization_url: providerUrl,
  token_url: providerUrl,
  /** The URL to which refresh tokens are sent, if it is not the token URL. */
  refresh_url: providerUrl.optional(),
  /**
   * The header in which the provider takes access tokens, if it is not `Authorization` with
   * `Bearer`. Optional for the same reason as `scopes`.
   */
  token_header: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]{0,60}$/)
    .optional(),
  /** How to revoke tokens: by RFC 7009, or in the provider's own way. */
  revocation: z
    .strictObject({
      /** The URL may contain `{client_id}`. */
      url: providerUrl,
      /**
       * `rfc7009`: a form with the token, authenticated like token requests. `json`: a JSON body,
       * with the client in Basic. `bearer`: the token as bearer.
       */
      style: z.enum(['rfc7009', 'json', 'bearer']).default('rfc7009'),
      method: z.enum(['POST', 'DELETE']).default('POST'),
      /** The kind of token whose revocation ends the grant. */
      token: z.enum(['refresh_token', 'access_token']).default('refresh_token'),
      /** The name of the field that carries the token. */
      field: z.string().max(50).default('token'),
    })
    .optional(),
  /** The required value of `iss` in an authorization answer that contains one (RFC 9207). */
  issuer: providerUrl.optional(),
  /** True when the provider always sends `iss`; an answer without it is then refused. */
  issuer_required: z.boolean().default(false),
  pkce: z.boolean(),
  client_authentication: z.enum(['client_secret_basic', 'client_secret_post', 'none']),
  /** The format of the body of token requests. */
  token_request: z.enum(['form', 'json']).default('form'),
  token_headers: parameters.default({}),
  scope_separator: z.enum([' ', ',']).default(' '),
  scope_parameter: z.string().max(50).default('scope'),
  /**
   * Scopes that are requested in addition to the wanted ones, mostly because the provider then
   * sends a refresh token.
   */
  scopes_always: z.array(oauthScope).max(10).default([]),
  /** The scopes that are requested when the caller names none. */
  scopes_default: z.array(oauthScope).max(50).default([]),
  /**
   * What is known about single scopes; all other scopes imply nothing. `opaque` when the provider
   * does not say which scopes a token has, so that none ever counts as missing. Optional, like the
   * next member, because replicas of an earlier release refuse a stored definition with a member
   * that they do not know.
   */
  scopes: z.union([z.literal('opaque'), z.record(oauthScope, scopeRule)]).optional(),
  /** A text that the provider may put in front of the names of scopes that it reports. */
  scope_prefix: oauthScope.optional(),
  authorize_parameters: parameters.default({}),
  token_parameters: parameters.default({}),
  token_answer: tokenAnswer.prefault({}),
  /**
   * The provider's error codes for a refresh token that no longer works, besides `invalid_grant`.
   */
  dead_grant_errors: z.array(z.string().max(100)).max(20).default([]),
  account: account.optional(),
  /**
   * What differs for the other kinds of tokens that the provider gives to one app, such as those of
   * bots. Optional for the same reason as `scopes`.
   */
  token_kinds: z
    .partialRecord(
      tokenActor,
      z.strictObject({
        scope_parameter: z.string().max(50).optional(),
        token_answer: tokenAnswer.optional(),
        account: account.optional(),
      }),
    )
    .optional(),
  /**
   * The variables for `{…}` parts, whose values are given with the OAuth app. Each value is part of
   * a host name or one path segment.
   */
  variables: z
    .record(
      z.string().regex(/^[a-z][a-z_]{0,30}$/),
      z.strictObject({
        description: z.string().max(300),
        default: z.string().max(200).optional(),
        pattern: z.string().max(200),
      }),
    )
    .default({}),
  /**
   * The hosts to which the provider's access tokens may be sent, with `{variable}` parts as in
   * URLs.
   */
  hosts: z.array(z.string().min(1).max(262)).max(50),
  /**
   * A further host to which tokens may be sent: the one that the token answer names at `at`, as a
   * URL or host name. It must end with one of these suffixes.
   */
  host_of_answer: z
    .strictObject({ at: dottedPath, suffixes: z.array(host).min(1).max(10) })
    .optional(),
  /** The provider's page for registering an OAuth app. */
  app_page: z.string().max(500).optional(),
  /**
   * What an admin does on that page, in order. The dashboard shows the steps as plain text, beside
   * the redirect URI and the scopes. Optional rather than an empty list, because replicas of an
   * earlier release refuse a stored definition with a member that they do not know.
   */
  steps: z.array(z.string().min(1).max(300)).max(10).optional(),
});
export type OauthProvider = z.output<typeof oauthProvider>;
