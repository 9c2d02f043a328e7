import { readFileSync, readdirSync } from 'node:fs';

import { parse } from 'yaml';
import { z } from 'zod';

/** Who a token belongs to. */
export type TokenKind = 'user' | 'bot' | 'app';

const factsUrl = new URL('facts/', import.meta.url);

const namesSchema = z.string().transform((text) => text.split(/\s+/));
/** The names of scopes, by the kind of token that can have them. */
const scopesByTokenSchema = z.partialRecord(z.enum(['user', 'bot', 'app']), namesSchema);
const parametersSchema = z.record(z.string(), z.string()).default({});
const answer = z.record(z.string(), z.unknown());

/** How a provider answers an authorization request. */
const authorizationFacts = {
  pkce: z.enum(['supported', 'ignored', 'required']),
  state: z.enum(['required', 'optional']).default('optional'),
  /** Parameters that an authorization request must have besides those of RFC 6749. */
  authorize_parameters: parametersSchema,
  redirect: z.strictObject({
    /** Which kinds of redirect URIs an app can register. */
    schemes: z.enum(['https', 'https_or_loopback', 'any']),
    /**
     * Whether a request must contain exactly the registered redirect URI, or may contain one below
     * its path.
     */
    match: z.enum(['exact', 'below']),
    /**
     * Where a request with another redirect URI ends: on a page of the provider, or at the
     * registered URI.
     */
    refusal: z.enum(['page', 'registered']),
  }),
  /** The parameters of the redirect back to the app, besides code and state. */
  callback_parameters: parametersSchema,
  /** What happens to a request with an unknown scope; absent if the provider has no scopes. */
  unknown_scope: z.enum(['redirect', 'page', 'dropped']).optional(),
};

/** What a token endpoint answers. */
const tokenAnswer = z.strictObject({
  /**
   * The format of the answer if the request's `Accept` header does not include `application/json`.
   */
  form: z.enum(['json', 'form']).default('json'),
  token_type: z.string().optional(),
  expires_in: z.number().optional(),
  /** Whether the first answer contains a refresh token, and whether a refresh replaces it. */
  refresh: z.enum(['none', 'kept', 'new']),
  /** Whether the answer to a refresh repeats a refresh token that was not replaced. */
  repeats_refresh_token: z.boolean().default(false),
  /** The URL for refreshes if it is not `token_url`. */
  refresh_url: z.string().optional(),
  /**
   * The member of the answer that contains the token and the granted scopes; absent if they are not
   * nested.
   */
  at: z.string().optional(),
  /** The separator between granted scopes if it is not `scope_separator`. */
  scope_separator: z.string().optional(),
  scopes_as: z.enum(['text', 'list']).default('text'),
  /** Scopes that the answer contains although the request did not ask for them. */
  always_granted: z.array(z.string()).default([]),
  /** Granted scopes that the answer never contains. */
  never_named: z.array(z.string()).default([]),
  /** The names of scopes in the answer, where they differ from the names in the request. */
  reported_as: parametersSchema,
  /** Whether a request with the scope `openid` gets an ID token. */
  id_token: z.boolean().default(false),
  others: answer.default({}),
});

/**
 * The answer to a used or unknown code. The answer's `error` is `used_code`, unless `body` gives
 * the whole answer.
 */
const tokenError = z.strictObject({
  status: z.number(),
  used_code: z.string(),
  used_refresh_token: z.string().default('invalid_grant'),
  body: answer.optional(),
});

/**
 * The endpoints that tell a client which account it is connected to, and what the API requires of
 * every request.
 */
const apiFacts = {
  accounts: z
    .array(
      z.strictObject({
        method: z.enum(['GET', 'POST']).default('GET'),
        url: z.string(),
        /** The token must have one of these scopes. If the list is empty, any token is accepted. */
        scopes: z.array(z.string()),
        headers: parametersSchema,
        answer: z.union([answer, z.array(answer)]),
      }),
    )
    .min(1),
  api: z.strictObject({
    hosts: z.array(z.string()).min(1),
    /**
     * The header that contains only the token. If absent, the token is in `Authorization: Bearer`.
     */
    token_header: z.string().optional(),
    required_headers: z.array(z.string()).default([]),
    /** The answer to every other request. */
    answer: answer.default({}),
  }),
};

/** The schema of `facts/<provider>.yaml`. README.md says how these files were written. */
const factsSchema = z.strictObject({
  /** The provider's public documentation. */
  sources: z.array(z.url()).min(1),
  authorization_url: z.string(),
  token_url: z.string(),
  revocation: z
    .strictObject({
      url: z.string(),
      style: z.enum(['rfc7009', 'json', 'bearer', 'other']),
      /** Further revocation URLs, which end more or less than `url`. */
      other_urls: z.array(z.string()).default([]),
    })
    .optional(),
  ...authorizationFacts,
  client_authentication: z.array(z.enum(['basic', 'body'])).min(1),
  token_request: z.array(z.enum(['form', 'json'])).optional(),
  /** What a client has to ask for, so that the provider issues a refresh token. */
  refresh_needs: z
    .strictObject({
      scopes: z.array(z.string()).default([]),
      authorize_parameters: parametersSchema,
      token_parameters: parametersSchema,
    })
    .prefault({}),
  /**
   * `scope_separator`, `scope_parameter` and `granted_scopes_at` are absent if the provider has no
   * scopes.
   */
  scope_separator: z.string().optional(),
  scope_parameter: z.string().optional(),
  /** The member of the token answer that contains the granted scopes. */
  granted_scopes_at: z.string().optional(),
  /** Scopes that the provider grants only together with other scopes. */
  scope_requires: z.record(z.string(), z.array(z.string())).default({}),
  token_answer: tokenAnswer,
  token_error: tokenError,
  ...apiFacts,
  /**
   * The differences for a bot's token. A request can ask for a bot's token and a user's token
   * together.
   */
  bot: z
    .strictObject({
      scope_parameter: z.string(),
      granted_scopes_at: z.string(),
      token_type: z.string(),
      others: answer.default({}),
    })
    .optional(),
  /**
   * Fields about which the documentation says nothing or contradicts itself. The test does not
   * compare them.
   */
  doubtful: z.array(z.enum(['revocation', 'pkce', 'scope_separator'])).default([]),
  scopes: scopesByTokenSchema,
  /**
   * Scopes that are missing in `scopes`, and that were looked up in the documentation by their
   * names.
   */
  scopes_looked_up: scopesByTokenSchema.default({}),
});
export type ProviderFacts = z.output<typeof factsSchema>;

/** The facts about each provider, by provider key. */
export const providerFacts: ReadonlyMap<string, ProviderFacts> = new Map(
  readdirSync(factsUrl).map((file) => [
    file.replace(/\.yaml$/, ''),
    factsSchema.parse(parse(readFileSync(new URL(file, factsUrl), 'utf8'))),
  ]),
);

export function scopesOf(provider: ProviderFacts, token: TokenKind): string[] {
  return [...(provider.scopes[token] ?? []), ...(provider.scopes_looked_up[token] ?? [])];
}

/**
 * Values for placeholders `{…}` in URLs. Rows, templates and documentation use different names for
 * the placeholders.
 */
const values: Record<string, Record<string, string>> = {
  auth0: { tenant: 'acme.eu', domain: 'acme.eu.auth0.com' },
  microsoft: { tenant: 'common' },
  okta: { yourOktaDomain: 'acme.okta.com', domain: 'acme.okta.com' },
  salesforce: { domain: 'login.salesforce.com' },
  shopify: { shop: 'acme' },
  zendesk: { subdomain: 'acme' },
};

export function fillPlaceholders(provider: string, text: string): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => values[provider]?.[name] ?? whole);
}
