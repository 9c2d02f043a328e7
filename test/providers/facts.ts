import { readFileSync, readdirSync } from 'node:fs';

import { parse } from 'yaml';
import { z } from 'zod';

/** Whose token it is. */
export type TokenKind = 'user' | 'bot' | 'app';

const factsUrl = new URL('facts/', import.meta.url);

const namesSchema = z.string().transform((text) => text.split(/\s+/));
/** Names of scopes by the type of the token that can have them. */
const scopesByTokenSchema = z.partialRecord(z.enum(['user', 'bot', 'app']), namesSchema);
const parametersSchema = z.record(z.string(), z.string()).default({});
const answer = z.record(z.string(), z.unknown());

/** What a provider does with an authorization request. */
const authorizationFacts = {
  pkce: z.enum(['supported', 'ignored', 'required']),
  state: z.enum(['required', 'optional']).default('optional'),
  /** Required parameters of the authorization request, besides those of RFC 6749. */
  authorize_parameters: parametersSchema,
  redirect: z.strictObject({
    /** Which addresses an app can register. */
    schemes: z.enum(['https', 'https_or_loopback', 'any']),
    /** Whether a request names the registered address exactly, or may name one below it. */
    match: z.enum(['exact', 'below']),
    /** Where a request with another address ends: on a page, or at the registered address. */
    refusal: z.enum(['page', 'registered']),
  }),
  /** What the redirect back to the app has besides code and state. */
  callback_parameters: parametersSchema,
  /** What happens to a request with an unknown scope; absent if the provider has no scopes. */
  unknown_scope: z.enum(['redirect', 'page', 'dropped']).optional(),
};

/** What a token endpoint answers. */
const tokenAnswer = z.strictObject({
  /** The form of the answer to a request that does not accept `application/json`. */
  form: z.enum(['json', 'form']).default('json'),
  token_type: z.string().optional(),
  expires_in: z.number().optional(),
  /** Whether the first answer has a refresh token, and whether a refresh replaces it. */
  refresh: z.enum(['none', 'kept', 'new']),
  /** Set if a refresh that keeps the refresh token repeats it in the answer. */
  repeats_refresh_token: z.boolean().default(false),
  /** The address for refreshes if it is not `token_url`. */
  refresh_url: z.string().optional(),
  /** The member that the token is in, with the granted scopes; absent if there is none. */
  at: z.string().optional(),
  /** Between granted scopes, if not `scope_separator`. */
  scope_separator: z.string().optional(),
  scopes_as: z.enum(['text', 'list']).default('text'),
  /** Scopes that the answer names though nobody asked for them. */
  always_granted: z.array(z.string()).default([]),
  /** Scopes that the answer never names. */
  never_named: z.array(z.string()).default([]),
  /** The names by which the answer has scopes, where they are not the ones to ask by. */
  reported_as: parametersSchema,
  /** Whether a request with the scope `openid` gets an ID token. */
  id_token: z.boolean().default(false),
  others: answer.default({}),
});

/** The answer to a used or unknown code; `used_code` is its `error`, unless `body` says more. */
const tokenError = z.strictObject({
  status: z.number(),
  used_code: z.string(),
  used_refresh_token: z.string().default('invalid_grant'),
  body: answer.optional(),
});

/** What tells a client whose account it is, and what the API wants of all requests. */
const apiFacts = {
  accounts: z
    .array(
      z.strictObject({
        method: z.enum(['GET', 'POST']).default('GET'),
        url: z.string(),
        /** The token needs one of these; any token will do if there are none. */
        scopes: z.array(z.string()),
        headers: parametersSchema,
        answer: z.union([answer, z.array(answer)]),
      }),
    )
    .min(1),
  api: z.strictObject({
    hosts: z.array(z.string()).min(1),
    /** The header that has the token alone; the usual `Authorization: Bearer` if absent. */
    token_header: z.string().optional(),
    required_headers: z.array(z.string()).default([]),
    /** The answer to every other request. */
    answer: answer.default({}),
  }),
};

/** The schema of `facts/<provider>.yaml`; README.md says how the files were made. */
const factsSchema = z.strictObject({
  /** The provider's public documentation. */
  sources: z.array(z.url()).min(1),
  authorization_url: z.string(),
  token_url: z.string(),
  revocation: z
    .strictObject({
      url: z.string(),
      style: z.enum(['rfc7009', 'json', 'bearer', 'other']),
      /** Other addresses that end more or less than this one. */
      other_urls: z.array(z.string()).default([]),
    })
    .optional(),
  ...authorizationFacts,
  client_authentication: z.array(z.enum(['basic', 'body'])).min(1),
  token_request: z.array(z.enum(['form', 'json'])).optional(),
  /** What a client has to ask for so that the provider sends a refresh token. */
  refresh_needs: z
    .strictObject({
      scopes: z.array(z.string()).default([]),
      authorize_parameters: parametersSchema,
      token_parameters: parametersSchema,
    })
    .prefault({}),
  /** This member and the next two are absent if the provider has no scopes. */
  scope_separator: z.string().optional(),
  scope_parameter: z.string().optional(),
  /** The member of the token answer that names the granted scopes. */
  granted_scopes_at: z.string().optional(),
  /** Scopes that the provider grants only together with others. */
  scope_requires: z.record(z.string(), z.array(z.string())).default({}),
  token_answer: tokenAnswer,
  token_error: tokenError,
  ...apiFacts,
  /** What differs for a bot's token, which a request can ask for with that of a user. */
  bot: z
    .strictObject({
      scope_parameter: z.string(),
      granted_scopes_at: z.string(),
      token_type: z.string(),
      others: answer.default({}),
    })
    .optional(),
  /** Fields about which the documentation is silent or contradicts itself; they are not compared. */
  doubtful: z.array(z.enum(['revocation', 'pkce', 'scope_separator'])).default([]),
  scopes: scopesByTokenSchema,
  /** Scopes that were looked up by their names, because `scopes` did not list them. */
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

/** Values of `{…}` parts, which rows, templates and documentation name differently. */
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
