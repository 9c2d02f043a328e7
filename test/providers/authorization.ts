import { randomUUID } from 'node:crypto';

import type { TokenKind } from './facts.ts';
import { unknownScopesOf } from './provider.ts';
import type { Grant, Provider } from './provider.ts';

/**
 * How an authorization request ends: with a redirect back to the app, or with a page of the
 * provider.
 */
export interface AuthorizationEnd {
  readonly redirect?: URL;
  /** The code in the redirect, if the person allowed the request. */
  readonly code?: string;
  readonly page?: string;
}

export type Decision = 'allow' | 'deny';

/**
 * Answers an authorization request (RFC 6749 §4.1.1) after the person's decision, according to the
 * provider's facts file.
 */
export function authorize(provider: Provider, request: URL, decision: Decision): AuthorizationEnd {
  const { app, facts } = provider;
  const query = request.searchParams;
  const endOnPage = (why: string): AuthorizationEnd => {
    provider.refusals.push(`authorization: ${why}`);
    return { page: why };
  };
  if (app === null || query.get('client_id') !== app.clientId) return endOnPage('unknown client');
  const redirectUri = query.get('redirect_uri') ?? '';
  const mayRedirect =
    facts.redirect.match === 'exact'
      ? redirectUri === app.redirectUri
      : isBelow(redirectUri, app.redirectUri);
  const buildRedirect = (to: string, fields: Record<string, string>): URL => {
    const url = new URL(to);
    const state = query.get('state');
    for (const [name, value] of Object.entries({ ...fields, ...(state && { state }) })) {
      url.searchParams.set(name, value);
    }
    return url;
  };
  if (!mayRedirect) {
    const end = endOnPage('redirect_uri_mismatch');
    if (facts.redirect.refusal === 'page') return end;
    return { redirect: buildRedirect(app.redirectUri, { error: 'redirect_uri_mismatch' }) };
  }
  const refuse = (error: string, why: string): AuthorizationEnd => {
    provider.refusals.push(`authorization: ${why}`);
    return { redirect: buildRedirect(redirectUri, { error, error_description: why }) };
  };

  const problem = findProblem(provider, query);
  if (problem !== undefined) return refuse('invalid_request', problem);
  const scopes = askedScopes(provider, query);
  if (Object.keys(scopes).length === 0) return endOnPage('no scopes');
  const unknown = Object.entries(scopes).flatMap(([kind, names]) =>
    unknownScopesOf(provider, kind as TokenKind, names),
  );
  if (unknown.length > 0) {
    const why = `unknown scopes ${unknown.join(' ')}`;
    if (facts.unknown_scope === 'page') return endOnPage(why);
    if (facts.unknown_scope === 'redirect') return refuse('invalid_scope', why);
    provider.refusals.push(`authorization: ${why}`);
  }
  if (decision === 'deny') {
    return { redirect: buildRedirect(redirectUri, { error: 'access_denied' }) };
  }
  const code = `code-${randomUUID()}`;
  provider.codes.set(code, grantOf(provider, { query, redirectUri, scopes, unknown }));
  return { redirect: buildRedirect(redirectUri, { ...facts.callback_parameters, code }), code };
}

/** Describes the first problem of a request. Does not check the redirect URI and the scopes. */
function findProblem({ facts }: Provider, query: URLSearchParams): string | undefined {
  if (query.get('response_type') !== 'code') return 'response_type must be code';
  if (facts.state === 'required' && !query.get('state')) return 'state is required';
  const challenge = query.get('code_challenge');
  if (facts.pkce === 'required' && challenge === null) return 'code_challenge is required';
  if (facts.pkce !== 'ignored' && challenge !== null) {
    if (query.get('code_challenge_method') !== 'S256') return 'code_challenge_method must be S256';
    if (!/^[\w-]{43}$/.test(challenge)) return 'code_challenge is no SHA-256';
  }
  const missingParameter = Object.entries(facts.authorize_parameters).find(
    ([name, value]) => query.get(name) !== value,
  );
  return missingParameter && `${missingParameter[0]} must be ${missingParameter[1]}`;
}

/** The scopes that the request asks for, by the kind of token. */
function askedScopes(
  { facts }: Provider,
  query: URLSearchParams,
): Partial<Record<TokenKind, string[]>> {
  const { scope_parameter: parameter, scope_separator: separator = ' ', bot } = facts;
  const readScopes = (name: string) =>
    (query.get(name) ?? '').split(separator).filter((scope) => scope !== '');
  if (parameter === undefined) return { user: [] };
  const [user, botScopes] = [
    readScopes(parameter),
    bot === undefined ? [] : readScopes(bot.scope_parameter),
  ];
  if (bot === undefined) return { user };
  return { ...(user.length > 0 && { user }), ...(botScopes.length > 0 && { bot: botScopes }) };
}

function grantOf(
  { facts }: Provider,
  {
    query,
    redirectUri,
    scopes,
    unknown,
  }: {
    query: URLSearchParams;
    redirectUri: string;
    scopes: Partial<Record<TokenKind, string[]>>;
    unknown: readonly string[];
  },
): Grant {
  const { scopes: neededScopes, authorize_parameters: neededParameters } = facts.refresh_needs;
  const knownScopes = Object.entries(scopes).map(([kind, names]) => [
    kind,
    names.filter((scope) => !unknown.includes(scope)),
  ]);
  return {
    redirectUri,
    challenge: facts.pkce === 'ignored' ? null : query.get('code_challenge'),
    scopes: Object.fromEntries(knownScopes) as Grant['scopes'],
    isLasting:
      neededScopes.every((scope) => scopes.user?.includes(scope)) &&
      Object.entries(neededParameters).every(([name, value]) => query.get(name) === value),
    isRedeemed: false,
    tokens: {},
  };
}

/**
 * Whether a redirect URI is the registered one, or is below the registered path on the same origin.
 */
function isBelow(given: string, registered: string): boolean {
  const [givenUrl, registeredUrl] = [URL.parse(given), new URL(registered)];
  if (givenUrl === null || givenUrl.origin !== registeredUrl.origin) return false;
  return (
    givenUrl.pathname === registeredUrl.pathname ||
    givenUrl.pathname.startsWith(`${registeredUrl.pathname}/`)
  );
}
