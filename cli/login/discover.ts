import * as oauth from 'oauth4webapi';
import { z } from 'zod';

import { coversEndpoint, mcpEndpoint, requireSafe } from '../address.ts';
import { parseChallenge } from '../challenge.ts';
import type { Challenge } from '../challenge.ts';
import { joinScopes } from '../credential/oauth.ts';
import { Refusal, reasonOf } from '../refusal.ts';

const timeoutMs = 20_000;
const probe = { jsonrpc: '2.0', id: 0, method: 'ping' };

const resourceMetadata = z.looseObject({
  resource: z.string().max(2_048),
  authorization_servers: z.array(z.string().max(2_048)).min(1).max(20),
  scopes_supported: z.array(z.string().max(200)).max(100).optional(),
});

/** What a login needs to know. */
export interface Discovered {
  /** As published, which is how it must be sent (RFC 8707). */
  readonly resource: string;
  readonly server: AuthorizationServer;
  /** Empty if neither the endpoint nor its metadata names any. */
  readonly scope: string;
}
export type AuthorizationServer = oauth.AuthorizationServer & {
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
};

/**
 * Follows the trail from the endpoint: its refusal, the resource's metadata (RFC 9728), the
 * authorization server's (RFC 8414), as MCP's authorization chapter orders them.
 *
 * @throws Refusal if the trail breaks, or leads to somebody who does not speak for the endpoint.
 */
export async function discover(gateway: string): Promise<Discovered> {
  const endpoint = mcpEndpoint(gateway);
  const challenge = await askForChallenge(endpoint);
  const metadata = await findResourceMetadata(endpoint, challenge);
  if (!coversEndpoint(metadata.resource, endpoint)) {
    throw new Refusal(
      `${endpoint.href} says that it is ${metadata.resource}, which it is not: nothing was sent there.`,
    );
  }
  const server = await findServer(metadata.authorization_servers[0] ?? '');
  const scope = challenge.scope ?? metadata.scopes_supported?.join(' ') ?? '';
  // Where the server offers it, this is what a refresh token is asked for with.
  const offersOffline = server.scopes_supported?.includes('offline_access') === true;
  return {
    resource: metadata.resource,
    server,
    scope: offersOffline && scope !== '' ? joinScopes(scope, 'offline_access') : scope,
  };
}

/** What the endpoint answers to somebody without a credential. */
async function askForChallenge(endpoint: URL): Promise<Challenge> {
  const answer = await fetchSafely(endpoint, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(probe),
  });
  await answer.body?.cancel();
  return parseChallenge(answer.headers.get('www-authenticate'));
}

async function findResourceMetadata(
  endpoint: URL,
  { resource_metadata: named }: Challenge,
): Promise<z.infer<typeof resourceMetadata>> {
  const wellKnown = '/.well-known/oauth-protected-resource';
  const candidates =
    named === undefined
      ? [`${wellKnown}${endpoint.pathname}`, wellKnown].map((path) => new URL(path, endpoint))
      : [requireSafe(named)];
  for (const url of candidates) {
    const parsed = resourceMetadata.safeParse(await fetchJson(url));
    if (parsed.success) return parsed.data;
  }
  throw new Refusal(
    `${endpoint.href} does not say where to sign in: is it the address of a gateway?`,
  );
}

async function findServer(issuer: string): Promise<AuthorizationServer> {
  const url = requireSafe(issuer);
  const path = url.pathname.replace(/\/$/, '');
  const candidates = [
    `/.well-known/oauth-authorization-server${path}`,
    `/.well-known/openid-configuration${path}`,
    ...(path === '' ? [] : [`${path}/.well-known/openid-configuration`]),
  ];
  for (const candidate of candidates) {
    const answer = await fetchSafely(new URL(candidate, url));
    if (answer.status === 200) return requireUsable(issuer, answer);
    await answer.body?.cancel();
  }
  throw new Refusal(
    `The authorization server ${issuer} has no metadata: logging in is not possible.`,
  );
}

async function requireUsable(issuer: string, answer: Response): Promise<AuthorizationServer> {
  let server;
  try {
    server = await oauth.processDiscoveryResponse(new URL(issuer), answer);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new Refusal(`The metadata of ${issuer} is refused: ${problem}.`, { cause: error });
  }
  const { authorization_endpoint, token_endpoint } = server;
  if (authorization_endpoint === undefined || token_endpoint === undefined) {
    throw new Refusal(`The authorization server ${issuer} has no way to log in by browser.`);
  }
  if (server.code_challenge_methods_supported?.includes('S256') !== true) {
    throw new Refusal(`The authorization server ${issuer} does not offer PKCE with S256.`);
  }
  for (const endpoint of [
    authorization_endpoint,
    token_endpoint,
    server.registration_endpoint,
    server.revocation_endpoint,
  ]) {
    if (endpoint !== undefined) requireSafe(endpoint);
  }
  return { ...server, authorization_endpoint, token_endpoint };
}

/** Undefined if it is not there or no JSON. */
async function fetchJson(url: URL): Promise<unknown> {
  const answer = await fetchSafely(url);
  if (answer.status === 200) return answer.json().catch(() => undefined);
  await answer.body?.cancel();
  return undefined;
}

/** @throws Refusal if nobody answers. */
async function fetchSafely(url: URL, init: RequestInit = {}): Promise<Response> {
  requireSafe(url.href);
  try {
    return await fetch(url, {
      ...init,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch (error) {
    throw new Refusal(`${url.origin} does not answer (${reasonOf(error)}).`, { cause: error });
  }
}
