import { z } from 'zod';

import { host, name } from './vocabulary.ts';

/** An address with `{variable}` parts. Whether the schemes and hosts of the result may be reached is checked when it is used. */
export const providerUrl = z
  .string()
  .max(2000)
  .regex(/^https?:\/\/[^\s#/@]+(\/[^\s#]*)?$/, 'must be an http(s) URL without user and fragment');
const parameters = z.record(z.string().max(100), z.string().max(500));
/** A place in a JSON document: member names joined by dots. */
const place = z.string().regex(/^[\w-]+(\.[\w-]+){0,5}$/);
export const oauthScope = z
  .string()
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,300}$/, 'is not a scope (RFC 6749 §3.3)');

/** Where the provider says whose account it is. */
const account = z.strictObject({
  /** `answer`: the token answer itself; else an address asked with the new token. */
  url: z.union([z.literal('answer'), providerUrl]),
  method: z.enum(['GET', 'POST']).default('GET'),
  headers: parameters.default({}),
  /** A JSON body of a POST, for look-ups by GraphQL. */
  body: z.string().max(1000).optional(),
  /** What stays the same when the account is renamed. */
  id: place,
  /** What its owner recognises it by: the first that is there. */
  label: z.array(place).min(1).max(5),
});

/**
 * How one OAuth 2.0 provider is spoken to, as data (RFC 6749 with what each makes of it). The rows
 * of `oauth-providers/` and the definitions that orgs give are both of this shape.
 */
export const oauthProvider = z.strictObject({
  key: name,
  title: z.string().min(1).max(100),
  authorization_url: providerUrl,
  token_url: providerUrl,
  /** Where refresh tokens are sent, if elsewhere. */
  refresh_url: providerUrl.optional(),
  /** RFC 7009, or what the provider has instead. */
  revocation: z
    .strictObject({
      /** May hold `{client_id}`. */
      url: providerUrl,
      /** A form with the token, and the client as in token requests; a JSON body, and the client in Basic; the token as bearer. */
      style: z.enum(['rfc7009', 'json', 'bearer']).default('rfc7009'),
      method: z.enum(['POST', 'DELETE']).default('POST'),
      /** Which token ends the grant. */
      token: z.enum(['refresh_token', 'access_token']).default('refresh_token'),
      /** Name of the field the token stands in. */
      field: z.string().max(50).default('token'),
    })
    .optional(),
  /** What `iss` of an authorization answer must be, when there is one (RFC 9207). */
  issuer: providerUrl.optional(),
  /** The provider always sends `iss`: an answer without it is refused. */
  issuer_required: z.boolean().default(false),
  pkce: z.boolean(),
  client_authentication: z.enum(['client_secret_basic', 'client_secret_post', 'none']),
  /** How token requests are written. */
  token_request: z.enum(['form', 'json']).default('form'),
  token_headers: parameters.default({}),
  scope_separator: z.enum([' ', ',']).default(' '),
  scope_parameter: z.string().max(50).default('scope'),
  /** Asked for besides what is wanted: what makes a refresh token come along, most often. */
  scopes_always: z.array(oauthScope).max(10).default([]),
  /** Scopes asked for when nobody says which. */
  scopes_default: z.array(oauthScope).max(50).default([]),
  authorize_parameters: parameters.default({}),
  token_parameters: parameters.default({}),
  token_answer: z
    .strictObject({
      /** The member that the token stands in. A refresh may answer at the top instead. */
      at: place.optional(),
      /** Where the granted scopes stand, below `at`; without them they are those that were asked for (RFC 6749 §5.1). */
      scope: place.default('scope'),
      /** Where a refusal stands, whatever the status says. */
      error: place.default('error'),
      /** Lifetime in seconds when the answer names none. */
      expires_in: z.int().min(1).optional(),
    })
    .prefault({}),
  /** What the provider calls a refresh token that is dead, besides `invalid_grant`. */
  dead_grant_errors: z.array(z.string().max(100)).max(20).default([]),
  account: account.optional(),
  /** Values of `{…}` parts: given with the app. Each is part of a host name or one path segment. */
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
  /** Where its access tokens may be sent; `{variable}` parts as in URLs. */
  hosts: z.array(z.string().min(1).max(262)).max(50),
  /** The token answer names a further host: a URL or host name at `at`, which must end with one of these. */
  host_of_answer: z.strictObject({ at: place, suffixes: z.array(host).min(1).max(10) }).optional(),
  /** Where an app is registered with it. */
  app_page: z.string().max(500).optional(),
});
export type OauthProvider = z.output<typeof oauthProvider>;
