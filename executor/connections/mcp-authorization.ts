import { z } from 'zod';

import { oauthScope, providerUrl } from '#contracts/oauth-provider';
import { statelessMessage } from '../mcp/protocol.ts';
import { parseBoundedJson } from '../domain/shape-body.ts';
import { ask } from './guarded-fetch.ts';
import type { Reading } from './guarded-fetch.ts';

/** Who gives out tokens for an MCP server, and for what. */
export interface McpAuthorization {
  readonly issuer: string;
  /** What the tokens are to be for (RFC 8707). */
  readonly resource: string;
  /** What to ask for, where the server says so. */
  readonly scopes: readonly string[];
}

const scopesMax = 50;
const metadata = z.object({
  resource: z.string().max(2000),
  authorization_servers: z.array(providerUrl).min(1).max(20),
  scopes_supported: z.array(oauthScope).max(1000).optional().catch(undefined),
});

/**
 * Finds who gives out the tokens for an MCP server (MCP, Authorization Server Discovery): what its
 * challenge names, else its metadata in one of the two well-known places (RFC 9728), else, as servers
 * of 2025-03-26 have it, its own origin. Undefined when what it says of itself is about another server.
 */
export async function findMcpAuthorization(
  reading: Reading,
  serverUrl: string,
): Promise<McpAuthorization | undefined> {
  const server = new URL(serverUrl);
  const challenge = await readChallenge(reading, serverUrl);
  const wellKnown = `${server.origin}/.well-known/oauth-protected-resource`;
  const places =
    challenge.metadataUrl === undefined
      ? [...(server.pathname === '/' ? [] : [wellKnown + server.pathname]), wellKnown]
      : [challenge.metadataUrl];
  for (const place of places) {
    const { status, body } = await ask(reading, { url: place });
    if (status !== 200) continue;
    const found = metadata.safeParse(parseBoundedJson(Buffer.from(body).toString('utf8')));
    if (!found.success) continue;
    const { resource, authorization_servers: servers, scopes_supported: supported } = found.data;
    const [issuer] = servers;
    if (issuer === undefined || !covers(resource, server)) return undefined;
    return { issuer, resource, scopes: (challenge.scopes ?? supported ?? []).slice(0, scopesMax) };
  }
  return { issuer: server.origin, resource: server.href, scopes: challenge.scopes ?? [] };
}

/** RFC 9728 §5.1 and RFC 6750 §3: what the server says to who comes without a token. */
async function readChallenge(
  reading: Reading,
  url: string,
): Promise<{ metadataUrl?: string; scopes?: string[] }> {
  const answer = await ask(reading, {
    url,
    method: 'POST',
    ...statelessMessage('server/discover'),
  });
  if (answer.status !== 401) return {};
  const challenges = answer.headers
    .filter(([name]) => name.toLowerCase() === 'www-authenticate')
    .map(([, value]) => value)
    .join(', ');
  const found = /\bresource_metadata="?([^",\s]{1,2000})/i.exec(challenges)?.[1];
  const scope = /(?:^|[\s,])scope="([^"]{1,2000})"/i.exec(challenges)?.[1];
  const metadataUrl = providerUrl.safeParse(found).data;
  const scopes = scope?.split(' ').filter((each) => oauthScope.safeParse(each).success);
  return {
    ...(metadataUrl === undefined ? {} : { metadataUrl }),
    ...(scopes === undefined ? {} : { scopes }),
  };
}

/** The resource is the server itself or what it lies below: tokens for anything else are not asked for on its word (RFC 9728 §3.3). */
function covers(resource: string, server: URL): boolean {
  const url = URL.parse(resource);
  if (url === null || url.origin !== server.origin || url.search !== '') return false;
  const base = url.pathname.replace(/\/$/, '');
  return server.pathname === url.pathname || `${server.pathname}/`.startsWith(`${base}/`);
}
