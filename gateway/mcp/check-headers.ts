import type { FastifyRequest } from 'fastify';

import { mcpPath, originAt, protectedResourceMetadataPath } from '#contracts/oauth';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import type { Credential } from '../authentication/caller.ts';
import { isOwnHost } from '../authentication/domain/site.ts';
import type { Site } from '../authentication/domain/site.ts';

/**
 * Refuses a request that a browser sent from a page of another site, even if that page was opened
 * under a DNS name that resolves to the gateway (Streamable HTTP, Security Warning;
 * docs/reference/calling.md#mcp). Programs that are not browsers send no `Origin`. Pages of the
 * origins that the operator has named may use the endpoint. The returned headers let such a page
 * read the answer.
 */
export function assertKnownOrigin(
  { site, mcpOrigins }: Pick<Deps, 'site' | 'mcpOrigins'>,
  origin: string | undefined,
): Record<string, string> {
  if (origin === undefined) return {};
  const url = URL.parse(origin);
  if (url?.protocol === new URL(site().origin).protocol && isOwnHost(site(), url.host)) return {};
  if (mcpOrigins.includes(origin)) {
    return {
      'access-control-allow-origin': origin,
      'access-control-expose-headers': 'WWW-Authenticate, Mcp-Session-Id, Retry-After',
      vary: 'Origin',
    };
  }
  throw new AppError(
    'forbidden',
    'Pages of other sites may not use this server, unless the setting MCP_ORIGINS names their origin.',
  );
}

/**
 * The methods and headers that a page of another origin may send. A browser asks for them before it
 * sends the request.
 */
export const preflightHeaders = {
  'access-control-allow-methods': 'GET, POST',
  'access-control-allow-headers':
    'Authorization, Content-Type, Accept, Last-Event-ID, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, Traceparent',
  'access-control-max-age': '600',
};

/** Returns the bearer token. A session cookie is never accepted at `/mcp`. */
export function readBearer({ headers }: FastifyRequest): Credential {
  const token = /^Bearer +([\x21-\x7e]+) *$/i.exec(headers.authorization ?? '')?.[1];
  if (token !== undefined) return { kind: 'bearer', token };
  throw new AppError(
    'unauthenticated',
    'No bearer token was sent; use "Authorization: Bearer <agent key or access token>".',
  );
}

/**
 * Whether a client accepts answers of this content type. Clients should accept both types of the
 * transport (2025-06-18: Sending Messages, 2). Many accept only one of them, and get their answers
 * in that type.
 */
export function doesAccept(accept: string | undefined, type: string): boolean {
  return (accept ?? '*/*')
    .split(',')
    .map((each) => each.split(';')[0]?.trim().toLowerCase())
    .some((each) => each === type || each === '*/*' || each === `${type.split('/')[0]}/*`);
}

export function notAcceptableError(types: string): AppError {
  return new AppError('invalid_request', `Answers come as ${types}; accept that.`, {
    details: { edge: 'not_acceptable' },
  });
}

/** Builds the challenge that tells a client where to find out how to sign in (RFC 9728 §5.1). */
export function challengeOf(site: Site, code: string, host: string | undefined): string[] {
  const metadataUrl = `${originAt(site.baseUrl, host)}${protectedResourceMetadataPath}${mcpPath}`;
  const metadata = `resource_metadata="${metadataUrl}"`;
  return code === 'unauthenticated' ? [metadata, 'scope="mcp"'] : [metadata];
}
