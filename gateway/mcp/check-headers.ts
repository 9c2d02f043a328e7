import type { FastifyRequest } from 'fastify';

import { AppError } from '#errors';
import type { Credential } from '../authentication/caller.ts';
import { isOwnHost } from '../authentication/domain/site.ts';
import type { Site } from '../authentication/domain/site.ts';

/**
 * Refuses a request that a browser sent from a page of another site, even if that page was opened
 * under a DNS name that resolves to the gateway (Streamable HTTP, Security Warning;
 * docs/reference/calling.md#mcp). Programs that are not browsers send no `Origin`.
 */
export function assertOwnOrigin(site: Site, origin: string | undefined): void {
  if (origin === undefined) return;
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  const isOwn = url?.protocol === new URL(site.origin).protocol && isOwnHost(site, url.host);
  if (isOwn) return;
  throw new AppError('forbidden', 'Pages of other sites may not use this server.');
}

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
 * Refuses a client that does not accept all of the content types in `wanted` (transport of
 * 2025-06-18: Sending Messages, 2).
 */
export function assertAcceptable(
  accept: string | undefined,
  acceptableTypes: readonly string[],
): void {
  const acceptedTypes = (accept ?? '*/*')
    .split(',')
    .map((each) => each.split(';')[0]?.trim().toLowerCase());
  const isAccepted = (type: string) =>
    acceptedTypes.some(
      (each) => each === type || each === '*/*' || each === `${type.split('/')[0]}/*`,
    );
  if (acceptableTypes.every(isAccepted)) return;
  throw new AppError(
    'invalid_request',
    `Answers come as ${acceptableTypes.join(' or ')}; accept both.`,
    {
      details: { edge: 'not_acceptable' },
    },
  );
}

/** Tells the client where to find out how to sign in (RFC 9728 §5.1). */
export function challengeOf(site: Site, code: string): string[] {
  const metadata = `resource_metadata="${site.baseUrl}/.well-known/oauth-protected-resource/mcp"`;
  return code === 'unauthenticated' ? [metadata, 'scope="mcp"'] : [metadata];
}
