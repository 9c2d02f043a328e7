import type { FastifyReply, FastifyRequest } from 'fastify';

import { buildWantedPageCookie, readCookie } from '../authentication/domain/site.ts';
import type { Deps } from '../deps.ts';
import { parseReturnTo } from './domain/return-to.ts';

/** How long a person may take to get a one-time link and open it. */
const wantedSeconds = 3_600;

/**
 * Stores in a cookie which page the person opened before signing in. A one-time link cannot contain
 * this page, because it is made by somebody else. Forms and providers pass the page on themselves,
 * without the cookie.
 */
export function rememberWantedPage(
  { site }: Pick<Deps, 'site'>,
  reply: FastifyReply,
  returnTo: string | null,
): void {
  if (returnTo === null || returnTo === '/') return;
  const value = encodeURIComponent(returnTo);
  void reply.header('set-cookie', buildWantedPageCookie(site(), value, wantedSeconds));
}

/** Returns the page that a person opened in this browser before signing in, or null. */
export function findWantedPage(
  { site }: Pick<Deps, 'site'>,
  { headers }: FastifyRequest,
): string | null {
  const value = readCookie(headers.cookie, site().wantedPageCookieName);
  if (value === undefined) return null;
  try {
    return parseReturnTo(decodeURIComponent(value));
  } catch {
    // The cookie is malformed, so the gateway did not set it.
    return null;
  }
}

/** Builds the cookie that deletes the stored page once somebody has signed in. */
export function forgetWantedPageCookie({ site }: Pick<Deps, 'site'>): string {
  return buildWantedPageCookie(site(), '', 0);
}
