import { randomUUID } from 'node:crypto';

import { fillPlaceholders, scopesOf } from './facts.ts';
import type { ProviderFacts, TokenKind } from './facts.ts';

/** An app that is registered at a simulated provider. */
export interface RegisteredApp {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
}

/** What a person allowed in one authorization, and the tokens that the app got for it. */
export interface Grant {
  readonly redirectUri: string;
  /** The PKCE code challenge, if the provider checks it; otherwise null. */
  readonly challenge: string | null;
  readonly scopes: Readonly<Partial<Record<TokenKind, readonly string[]>>>;
  /**
   * Whether the request asked for everything that the provider requires before it issues a refresh
   * token.
   */
  isLasting: boolean;
  isRedeemed: boolean;
  /** The latest tokens of each kind. Empty until the app exchanges the code. */
  readonly tokens: Partial<Record<TokenKind, IssuedTokens>>;
}

export interface IssuedTokens {
  access: string;
  refresh: string | null;
}

/** One simulated provider: its facts file, and the state that it keeps, such as issued tokens. */
export interface Provider {
  readonly key: string;
  readonly facts: ProviderFacts;
  app: RegisteredApp | null;
  readonly codes: Map<string, Grant>;
  /** The grant of each valid access token. */
  readonly accessTokens: Map<string, { grant: Grant; kind: TokenKind }>;
  readonly refreshTokens: Map<string, { grant: Grant; kind: TokenKind }>;
  /** The access token of each request that the API has answered. */
  readonly calls: string[];
  /** What the provider has refused, with the reason, in order. */
  readonly refusals: string[];
}

export function createProvider(key: string, facts: ProviderFacts): Provider {
  const filledFacts = JSON.parse(fillPlaceholders(key, JSON.stringify(facts))) as ProviderFacts;
  return {
    key,
    facts: filledFacts,
    app: null,
    codes: new Map(),
    accessTokens: new Map(),
    refreshTokens: new Map(),
    calls: [],
    refusals: [],
  };
}

/** Registers an app with this redirect URI. A person would do this on the provider's page. */
export function registerApp(provider: Provider, redirectUri: string): RegisteredApp {
  const { schemes } = provider.facts.redirect;
  const { protocol, hostname } = new URL(redirectUri);
  const isLoopback = ['localhost', '127.0.0.1'].includes(hostname);
  if (protocol !== 'https:' && schemes !== 'any' && !(schemes !== 'https' && isLoopback)) {
    throw new Error(`${provider.key} takes no redirect URI like ${redirectUri}`);
  }
  provider.app = {
    clientId: `app-at-${provider.key}`,
    clientSecret: `CANARY-secret-at-${provider.key}`,
    redirectUri,
  };
  return provider.app;
}

/**
 * Issues new tokens of one kind. The earlier access token becomes invalid, and so does the earlier
 * refresh token unless it is kept.
 */
export function issueTokens(
  provider: Provider,
  grant: Grant,
  { kind, keepsRefreshToken }: { kind: TokenKind; keepsRefreshToken: boolean },
): IssuedTokens {
  const earlierTokens = grant.tokens[kind];
  const name = `${provider.key}-${kind}-${randomUUID()}`;
  const isRenewable = grant.isLasting && provider.facts.token_answer.refresh !== 'none';
  const newRefresh = isRenewable ? `CANARY-refresh-${name}` : null;
  const refresh =
    earlierTokens !== undefined && keepsRefreshToken ? earlierTokens.refresh : newRefresh;
  const tokens = { access: `CANARY-access-${name}`, refresh };
  if (earlierTokens !== undefined) provider.accessTokens.delete(earlierTokens.access);
  if (earlierTokens?.refresh && earlierTokens.refresh !== refresh)
    provider.refreshTokens.delete(earlierTokens.refresh);
  provider.accessTokens.set(tokens.access, { grant, kind });
  if (refresh !== null) provider.refreshTokens.set(refresh, { grant, kind });
  grant.tokens[kind] = tokens;
  return tokens;
}

/** Ends a grant. A person would do this in the account's settings. */
export function endGrant(provider: Provider, grant: Grant): void {
  for (const tokens of Object.values(grant.tokens)) {
    provider.accessTokens.delete(tokens.access);
    if (tokens.refresh !== null) provider.refreshTokens.delete(tokens.refresh);
  }
}

/**
 * Returns the scopes that tokens of this kind cannot have. The documentation has a separate list of
 * scopes for the tokens of apps.
 */
export function unknownScopesOf(
  { facts }: Provider,
  kind: TokenKind,
  scopes: readonly string[],
): string[] {
  const knownScopes = new Set(scopesOf(facts, kind));
  return scopes.filter((scope) => !knownScopes.has(scope));
}
