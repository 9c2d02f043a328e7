import type { FastifyReply, FastifyRequest } from 'fastify';

import { buildWantedPageCookie, readCookie } from '../authentication/domain/site.ts';
import type { Deps } from '../deps.ts';
import { parseReturnTo } from './domain/return-to.ts';

/** How long a person may take to get a one-time link and open it. */
const wantedSeconds = 3_600;

/**
 * Keeps in the browser which page the person wanted. A one-time link is made by somebody else, so
 * it cannot say it; a form and a provider pass it on by themselves.
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

/** The page that the person wanted in this browser before, or null. */
export function findWantedPage(
  { site }: Pick<Deps, 'site'>,
  { headers }: FastifyRequest,
): string | null {
  const value = readCookie(headers.cookie, site().wantedPageCookieName);
  if (value === undefined) return null;
  try {
    return parseReturnTo(decodeURIComponent(value));
  } catch {
    // The gateway did not set this cookie.
    return null;
  }
}

/** The cookie that forgets the page, once somebody has signed in. */
export function forgetWantedPageCookie({ site }: Pick<Deps, 'site'>): string {
  return buildWantedPageCookie(site(), '', 0);
}
