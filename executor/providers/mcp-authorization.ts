import { z } from 'zod';

import { oauthScope, providerUrl } from '#contracts/oauth-provider';
import { createStatelessMessage } from '../request/domain/mcp-message.ts';
import { parseBoundedJson } from '../answers/domain/shape-body.ts';
import { askServer } from './guarded-fetch.ts';
import type { ReadingDeps } from './guarded-fetch.ts';

/** The authorization server of an MCP server, and the parameters for requesting tokens from it. */
export interface McpAuthorization {
  readonly issuer: string;
  /** The resource that the tokens are valid for (RFC 8707). */
  readonly resource: string;
  /** The scopes to request; empty when the server names none. */
  readonly scopes: readonly string[];
}

const scopesMax = 50;
const resourceMetadata = z.object({
  resource: z.string().max(2000),
  authorization_servers: z.array(providerUrl).min(1).max(20),
  scopes_supported: z.array(oauthScope).max(1000).optional().catch(undefined),
});

/**
 * Finds the authorization server of an MCP server (MCP, Authorization Server Discovery). Reads the
 * metadata from the URL in the server's challenge, or else from one of the two well-known URLs (RFC
 * 9728). Without metadata, the authorization server is at the MCP server's own origin, as in
 * revision 2025-03-26. Undefined when the metadata is about another server.
 */
export async function findMcpAuthorization(
  readingDeps: ReadingDeps,
  serverUrl: string,
): Promise<McpAuthorization | undefined> {
  const server = new URL(serverUrl);
  const challenge = await readChallenge(readingDeps, serverUrl);
  const wellKnown = `${server.origin}/.well-known/oauth-protected-resource`;
  const metadataUrls =
    challenge.metadataUrl === undefined
      ? [...(server.pathname === '/' ? [] : [wellKnown + server.pathname]), wellKnown]
      : [challenge.metadataUrl];
  for (const metadataUrl of metadataUrls) {
    const { status, body } = await askServer(readingDeps, { url: metadataUrl });
    if (status !== 200) continue;
    const parseResult = resourceMetadata.safeParse(
      parseBoundedJson(Buffer.from(body).toString('utf8')),
    );
    if (!parseResult.success) continue;
    const {
      resource,
      authorization_servers: servers,
      scopes_supported: supported,
    } = parseResult.data;
    const [issuer] = servers;
    if (issuer === undefined || !isAboutServer(resource, server)) return undefined;
    return { issuer, resource, scopes: (challenge.scopes ?? supported ?? []).slice(0, scopesMax) };
  }
  return { issuer: server.origin, resource: server.href, scopes: challenge.scopes ?? [] };
}

/** The server's challenge to a request without a token (RFC 9728 §5.1, RFC 6750 §3). */
async function readChallenge(
  readingDeps: ReadingDeps,
  url: string,
): Promise<{ metadataUrl?: string; scopes?: string[] }> {
  const answer = await askServer(readingDeps, {
    url,
    method: 'POST',
    ...createStatelessMessage('server/discover'),
  });
  if (answer.status !== 401) return {};
  const challenges = answer.headers
    .filter(([name]) => name.toLowerCase() === 'www-authenticate')
    .map(([, value]) => value)
    .join(', ');
  const metadataUrlInHeader = /\bresource_metadata="?([^",\s]{1,2000})/i.exec(challenges)?.[1];
  const scope = /(?:^|[\s,])scope="([^"]{1,2000})"/i.exec(challenges)?.[1];
  const metadataUrl = providerUrl.safeParse(metadataUrlInHeader).data;
  const scopes = scope?.split(' ').filter((each) => oauthScope.safeParse(each).success);
  return {
    ...(metadataUrl === undefined ? {} : { metadataUrl }),
    ...(scopes === undefined ? {} : { scopes }),
  };
}

/**
 * Whether the metadata is about this server: its resource is the server's URL or a parent path of
 * it. Other metadata is not trusted (RFC 9728 §3.3).
 */
function isAboutServer(resource: string, server: URL): boolean {
  const url = URL.parse(resource);
  if (url === null || url.origin !== server.origin || url.search !== '') return false;
  const basePath = url.pathname.replace(/\/$/, '');
  return server.pathname === url.pathname || `${server.pathname}/`.startsWith(`${basePath}/`);
}
