import * as oauth from 'oauth4webapi';

import { isLoopbackHttp, requireSafe } from '../address.ts';
import { Refusal } from '../refusal.ts';
import type { Credential, OAuthClient } from './file.ts';

const timeoutMs = 20_000;
/** Acts as the person, not as an agent: nothing that an agent holds may have it. */
const userScope = 'user';

/** For one request of oauth4webapi: a time limit, and plain http only where `requireSafe` allows it. */
export function requestOptions(endpoint: string) {
  return {
    signal: AbortSignal.timeout(timeoutMs),
    [oauth.allowInsecureRequests]: isLoopbackHttp(requireSafe(endpoint)),
  };
}

/** How a client says who it is at the token endpoint; ours is public and only names itself. */
export function authenticationOf(client: OAuthClient): oauth.ClientAuth {
  const { client_secret: secret, token_endpoint_auth_method: method } = client;
  if (secret === undefined || method === 'none') return oauth.None();
  return method === 'client_secret_post'
    ? oauth.ClientSecretPost(secret)
    : basicAuthentication(secret);
}

/**
 * RFC 6749 section 2.3.1. The library's own escapes `-`, `_` and `.` too, which servers that do
 * not decode take for another name.
 */
function basicAuthentication(secret: string): oauth.ClientAuth {
  return (_server, { client_id }, _body, headers) => {
    const pair = [client_id, secret].map((each) =>
      String(new URLSearchParams([['', each]])).slice(1),
    );
    headers.set('authorization', `Basic ${Buffer.from(pair.join(':')).toString('base64')}`);
  };
}

/** Exchanges the refresh token. The old one is used up from here on, whatever comes back. */
export async function refreshCredential(
  credential: Credential,
  refreshToken: string,
): Promise<Credential> {
  const { issuer, token_endpoint, client, resource } = credential;
  const server = { issuer, token_endpoint };
  const answer = await oauth.refreshTokenGrantRequest(
    server,
    client,
    authenticationOf(client),
    refreshToken,
    { ...requestOptions(token_endpoint), additionalParameters: { resource } },
  );
  const tokens = await oauth.processRefreshTokenResponse(server, client, answer);
  return withTokens(credential, tokens);
}

/** @throws Refusal if they act as the user: this program is for agents. */
export function withTokens(
  credential: Omit<Credential, 'access_token'>,
  { access_token, refresh_token, scope }: oauth.TokenEndpointResponse,
): Credential {
  const updated = {
    ...credential,
    access_token,
    ...(refresh_token !== undefined && { refresh_token }),
    ...(scope !== undefined && { scope }),
  };
  refuseUserScope(updated);
  return updated;
}

export function refuseUserScope({ scope }: { readonly scope?: string | undefined }): void {
  if (!scopesOf(scope).includes(userScope)) return;
  throw new Refusal(
    'This credential acts as the user, and an agent must not: log in with "action-gateway mcp login".',
  );
}

/** The scopes to ask for: never the user's own. */
export function agentScopes(scope: string): string {
  return scopesOf(scope)
    .filter((each) => each !== userScope)
    .join(' ');
}

/** Both, each scope once. */
export function joinScopes(...scopes: readonly (string | undefined)[]): string {
  return [...new Set(scopes.flatMap(scopesOf))].join(' ');
}

function scopesOf(scope: string | undefined): string[] {
  return scope?.split(' ').filter(Boolean) ?? [];
}
