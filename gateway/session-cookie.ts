import type { IncomingHttpHeaders } from 'node:http';

import { deviceCookie, readCookie, sessionCookie } from './domain/site.ts';
import type { Site } from './domain/site.ts';

const secondsMax = 7 * 24 * 60 * 60;
const userAgentCharactersMax = 500;

interface Opened {
  readonly sessionToken: string;
  readonly expiresAt: string;
  readonly device: { readonly token: string; readonly expiresAt: string };
}

/** `Set-Cookie` for a session that auth has opened and the browser that it was opened in. */
export function newSessionCookies(
  site: Site,
  { sessionToken, expiresAt, device }: Opened,
): string[] {
  return [
    sessionCookie(site, sessionToken, Math.min(secondsUntil(expiresAt), secondsMax)),
    deviceCookie(site, device.token, secondsUntil(device.expiresAt)),
  ];
}

function secondsUntil(expiresAt: string): number {
  return Math.max(0, Math.floor((Date.parse(expiresAt) - Date.now()) / 1000));
}

/** What auth is told of the browser that signs in. */
export function visitOf(
  site: Site,
  headers: IncomingHttpHeaders,
): { userAgent: string | null; deviceToken: string | null } {
  const deviceToken = readCookie(headers.cookie, site.deviceCookieName) ?? null;
  return {
    userAgent: userAgentOf(headers),
    deviceToken: deviceToken !== null && deviceToken.length <= 100 ? deviceToken : null,
  };
}

/** What a person recognises a session by in the list of theirs. */
function userAgentOf(headers: IncomingHttpHeaders): string | null {
  return headers['user-agent']?.slice(0, userAgentCharactersMax) ?? null;
}
