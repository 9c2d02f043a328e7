import type { FastifyRequest } from 'fastify';

import { AppError } from '#errors';
import type { Credential } from '../authenticate.ts';
import { isOwnHost } from '../domain/site.ts';
import type { Site } from '../domain/site.ts';

/**
 * Refuses a request that a page of another site sent through a browser, whatever name it gave the
 * gateway's address (Streamable HTTP, Security Warning; docs/reference/calling.md#mcp). Programs send
 * no `Origin`.
 */
export function assertOwnOrigin(site: Site, origin: string | undefined): void {
  if (origin === undefined) return;
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  const isOwn = url?.protocol === new URL(site.origin).protocol && isOwnHost(site, url.host);
  if (isOwn) return;
  throw new AppError('forbidden', 'Pages of other sites may not use this server.');
}

/** A bearer, and nothing else: a browser's session never counts here. */
export function readBearer({ headers }: FastifyRequest): Credential {
  const token = /^Bearer +([\x21-\x7e]+) *$/i.exec(headers.authorization ?? '')?.[1];
  if (token !== undefined) return { kind: 'bearer', token };
  throw new AppError(
    'unauthenticated',
    'No bearer token was sent; use "Authorization: Bearer <agent key or access token>".',
  );
}

/** Both kinds of answer must be welcome (transport of 2025-06-18: Sending Messages, 2). */
export function assertAcceptable(accept: string | undefined, wanted: readonly string[]): void {
  const accepted = (accept ?? '*/*')
    .split(',')
    .map((each) => each.split(';')[0]?.trim().toLowerCase());
  const isWelcome = (type: string) =>
    accepted.some((each) => each === type || each === '*/*' || each === `${type.split('/')[0]}/*`);
  if (wanted.every(isWelcome)) return;
  throw new AppError('invalid_request', `Answers come as ${wanted.join(' or ')}; accept both.`, {
    details: { edge: 'not_acceptable' },
  });
}

/** RFC 9728 §5.1: where a client finds out how to sign in. */
export function challengeOf(site: Site, code: string): string[] {
  const metadata = `resource_metadata="${site.baseUrl}/.well-known/oauth-protected-resource/mcp"`;
  return code === 'unauthenticated' ? [metadata, 'scope="mcp"'] : [metadata];
}
