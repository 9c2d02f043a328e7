import * as oauth from 'oauth4webapi';

import { fetchDocument } from '../answer-body.ts';
import { isLoopbackHttp, parseSafeUrl } from '../address.ts';
import { Refusal } from '../refusal.ts';
import type { Credential, OAuthClient } from './file.ts';

const timeoutMs = 20_000;
/**
 * The scope of a credential that acts as the person. A credential for an agent must not have it.
 */
export const userScope = 'user';

/** As whom the credential acts. Only `action-gateway login` signs in as the user. */
export type ActsAs = 'agent' | 'user';

/**
 * Options for one request of oauth4webapi: a time limit, a limit of the answer, and permission to use plain http for
 * addresses where `parseSafeUrl` allows it.
 */
export function createRequestOptions(endpoint: string) {
  return {
    signal: AbortSignal.timeout(timeoutMs),
    [oauth.customFetch]: fetchDocument,
    [oauth.allowInsecureRequests]: isLoopbackHttp(parseSafeUrl(endpoint)),
  };
}

/**
 * How the client authenticates at the token endpoint. This program is usually a public client,
 * which sends only its client id.
 */
export function authenticationOf(client: OAuthClient): oauth.ClientAuth {
  const { client_secret: secret, token_endpoint_auth_method: method } = client;
  if (secret === undefined || method === 'none') return oauth.None();
  return method === 'client_secret_post'
    ? oauth.ClientSecretPost(secret)
    : createBasicAuthentication(secret);
}

/**
 * HTTP Basic authentication as RFC 6749 section 2.3.1 describes it. The library's own version also
 * escapes `-`, `_` and `.`, and servers that do not decode these would read a different client id.
 */
function createBasicAuthentication(secret: string): oauth.ClientAuth {
  return (_server, { client_id }, _body, headers) => {
    const pair = [client_id, secret].map((each) =>
      String(new URLSearchParams([['', each]])).slice(1),
    );
    headers.set('authorization', `Basic ${Buffer.from(pair.join(':')).toString('base64')}`);
  };
}

/**
 * Exchanges the refresh token for new tokens. Once this request is sent, the old refresh token
 * counts as used, even if no answer arrives.
 */
export async function refreshCredential(
  credential: Credential,
  refreshToken: string,
  actsAs: ActsAs,
): Promise<Credential> {
  const { issuer, token_endpoint, client, resource } = credential;
  const server = { issuer, token_endpoint };
  const answer = await oauth.refreshTokenGrantRequest(
    server,
    client,
    authenticationOf(client),
    refreshToken,
    { ...createRequestOptions(token_endpoint), additionalParameters: { resource } },
  );
  const tokens = await oauth.processRefreshTokenResponse(server, client, answer);
  return withTokens(credential, tokens, actsAs);
}

/**
 * The credential with new tokens.
 *
 * @throws Refusal if the tokens act as the user although the login is for an agent.
 */
export function withTokens(
  credential: Omit<Credential, 'access_token'>,
  { access_token, refresh_token, scope }: oauth.TokenEndpointResponse,
  actsAs: ActsAs,
): Credential {
  const updatedCredential = {
    ...credential,
    access_token,
    ...(refresh_token !== undefined && { refresh_token }),
    ...(scope !== undefined && { scope }),
  };
  refuseUserScope(updatedCredential, actsAs);
  return updatedCredential;
}

export function refuseUserScope(
  { scope }: { readonly scope?: string | undefined },
  actsAs: ActsAs,
): void {
  if (actsAs === 'user' || !scopesOf(scope).includes(userScope)) return;
  throw new Refusal(
    'This credential acts as the user, and an agent must not: log in with "action-gateway mcp login".',
  );
}

/** Returns all of these scopes except the one that acts as the user. */
export function withoutUserScope(scope: string): string {
  return scopesOf(scope)
    .filter((each) => each !== userScope)
    .join(' ');
}

/** The union of several scope strings. */
export function joinScopes(...scopes: readonly (string | undefined)[]): string {
  return [...new Set(scopes.flatMap(scopesOf))].join(' ');
}

function scopesOf(scope: string | undefined): string[] {
  return scope?.split(' ').filter(Boolean) ?? [];
}
