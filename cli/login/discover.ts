import * as oauth from 'oauth4webapi';
import { z } from 'zod';

import { adviseOnAddress, coversEndpoint, mcpEndpoint, parseSafeUrl } from '../address.ts';
import { fetchDocument } from '../answer-body.ts';
import { parseChallenge } from '../challenge.ts';
import type { Challenge } from '../challenge.ts';
import { joinScopes } from '../credential/oauth.ts';
import { exitCodes } from '../exit-codes.ts';
import { Refusal, reasonOf } from '../refusal.ts';

const timeoutMs = 20_000;
const probe = { jsonrpc: '2.0', id: 0, method: 'ping' };

const resourceMetadata = z.looseObject({
  resource: z.string().max(2_048),
  authorization_servers: z.array(z.string().max(2_048)).min(1).max(20),
  scopes_supported: z.array(z.string().max(200)).max(100).optional(),
});

/** What a login needs to know about the gateway and its authorization server. */
export interface DiscoveryResult {
  /**
   * The resource identifier exactly as the metadata contains it. Requests must use this form (RFC
   * 8707).
   */
  readonly resource: string;
  readonly server: AuthorizationServer;
  /** The scopes to request; empty if neither the endpoint nor its metadata names any. */
  readonly scope: string;
}
export type AuthorizationServer = oauth.AuthorizationServer & {
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
};

/**
 * Finds the authorization server of the endpoint as MCP's chapter on authorization prescribes: by
 * the endpoint's 401 challenge, the resource's metadata (RFC 9728), and the authorization server's
 * metadata (RFC 8414).
 *
 * @throws Refusal if a step fails, or if the metadata does not cover the endpoint.
 */
export async function discoverAuthorizationServer(gateway: string): Promise<DiscoveryResult> {
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
  // If the server offers this scope, a login must request it in order to get a refresh token.
  const offersOfflineAccess = server.scopes_supported?.includes('offline_access') === true;
  return {
    resource: metadata.resource,
    server,
    scope: offersOfflineAccess && scope !== '' ? joinScopes(scope, 'offline_access') : scope,
  };
}

/** Sends a request without a credential; returns the challenge of the endpoint's answer. */
async function askForChallenge(endpoint: URL): Promise<Challenge> {
  const answer = await fetchSafely(fetch, endpoint, {
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
  { resource_metadata: metadataUrl }: Challenge,
): Promise<z.infer<typeof resourceMetadata>> {
  const wellKnownPath = '/.well-known/oauth-protected-resource';
  const candidates =
    metadataUrl === undefined
      ? [`${wellKnownPath}${endpoint.pathname}`, wellKnownPath].map(
          (path) => new URL(path, endpoint),
        )
      : [parseSafeUrl(metadataUrl)];
  for (const url of candidates) {
    const parseResult = resourceMetadata.safeParse(await fetchJson(url));
    if (parseResult.success) return parseResult.data;
  }
  throw new Refusal(
    `${endpoint.href} does not say where to sign in: is it the address of a gateway?`,
  );
}

async function findServer(issuer: string): Promise<AuthorizationServer> {
  const url = parseSafeUrl(issuer);
  const path = url.pathname.replace(/\/$/, '');
  const candidates = [
    `/.well-known/oauth-authorization-server${path}`,
    `/.well-known/openid-configuration${path}`,
    ...(path === '' ? [] : [`${path}/.well-known/openid-configuration`]),
  ];
  for (const candidate of candidates) {
    const answer = await fetchSafely(fetchDocument, new URL(candidate, url));
    if (answer.status === 200) return parseServerMetadata(issuer, answer);
    await answer.body?.cancel();
  }
  throw new Refusal(
    `The authorization server ${issuer} has no metadata: logging in is not possible.`,
  );
}

async function parseServerMetadata(issuer: string, answer: Response): Promise<AuthorizationServer> {
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
    if (endpoint !== undefined) parseSafeUrl(endpoint);
  }
  return { ...server, authorization_endpoint, token_endpoint };
}

/** Returns the JSON document; undefined if it is missing or is not JSON. */
async function fetchJson(url: URL): Promise<unknown> {
  const answer = await fetchSafely(fetchDocument, url);
  if (answer.status === 200) return answer.json().catch(() => undefined);
  await answer.body?.cancel();
  return undefined;
}

/** @throws Refusal if the server does not answer. */
async function fetchSafely(
  fetchAnswer: typeof fetchDocument,
  url: URL,
  init: RequestInit = {},
): Promise<Response> {
  parseSafeUrl(url.href);
  try {
    return await fetchAnswer(url, {
      ...init,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch (error) {
    const message = `${url.origin} does not answer (${reasonOf(error)}). ${adviseOnAddress(url.origin)}`;
    throw new Refusal(message, { cause: error, exitCode: exitCodes.unreachable });
  }
}
