import type { FastifyReply, FastifyRequest } from 'fastify';

import { readCookie, buildReturnCookie } from '../authentication/domain/site.ts';
import type { Deps } from '../deps.ts';
import { parseReturnTo } from './domain/return-to.ts';

/** How long a person may take at the provider. The executor keeps the flow for the same time. */
const returnSeconds = 600;

/** Returns the page that the person came from and should return to, if the link names one. */
export function returnToOf(request: FastifyRequest): string | null {
  return parseReturnTo((request.query as { return_to?: unknown }).return_to);
}

/**
 * Stores the page to return to in a cookie. The cookie also contains the `state` of the
 * authorization request, because a person can connect two accounts at a time in two tabs. The tab
 * that began first then shows the usual page at the end.
 */
export function rememberReturn(
  { site }: Deps,
  request: FastifyRequest,
  { reply, url }: { reply: FastifyReply; url: string },
): FastifyReply {
  const returnTo = returnToOf(request);
  if (returnTo === null) return reply;
  const state = new URL(url).searchParams.get('state') ?? '';
  const value = `${state}.${encodeURIComponent(returnTo)}`;
  return reply.header('set-cookie', buildReturnCookie(site(), value, returnSeconds));
}

export function returnToOfState(
  { site }: Deps,
  request: FastifyRequest,
  state: string,
): string | null {
  const value = readCookie(request.headers.cookie, site().returnCookieName) ?? '';
  const separator = value.indexOf('.');
  if (separator < 1 || value.slice(0, separator) !== state) return null;
  const returnTo = value.slice(separator + 1);
  return parseReturnTo(decodeState(returnTo));
}

function decodeState(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
