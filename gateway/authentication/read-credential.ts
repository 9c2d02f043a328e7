import type { IncomingHttpHeaders } from 'node:http';

import { AppError } from '#errors';
import type { Credential } from './caller.ts';
import { isOwnOrigin, readCookie } from './domain/site.ts';
import type { Site } from './domain/site.ts';

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Returns the bearer token of a request or, if there is none, the session cookie. A request with an
 * unsafe method that is authenticated by the cookie must come from a page of the gateway itself.
 */
export function readCredential(
  site: Site,
  { method, headers }: { method: string; headers: IncomingHttpHeaders },
): Credential {
  const { authorization } = headers;
  if (authorization !== undefined) {
    const token = /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization)?.[1];
    if (token !== undefined) return { kind: 'bearer', token };
    throw new AppError(
      'unauthenticated',
      'The Authorization header is not a bearer token; send "Authorization: Bearer <token>".',
    );
  }
  const sessionToken = readCookieSession(site, headers);
  if (sessionToken === null) {
    throw new AppError(
      'unauthenticated',
      'No credential was sent; use "Authorization: Bearer <token>" or sign in.',
    );
  }
  if (!safeMethods.has(method) && !isOwnOrigin(site, headers)) {
    throw new AppError(
      'forbidden',
      `A session may change things only from the gateway's own pages; send "Origin: ${site.origin}", or use a bearer token.`,
    );
  }
  return sessionToken;
}

/** Returns the session cookie, for pages that only display who is signed in. */
export function readCookieSession(
  site: Site,
  { cookie }: Pick<IncomingHttpHeaders, 'cookie'>,
): Credential | null {
  const token = readCookie(cookie, site.cookieName);
  return token === undefined || token === '' ? null : { kind: 'session', token };
}
