import type { IncomingHttpHeaders } from 'node:http';

import { buildDeviceCookie, readCookie, buildSessionCookie } from './domain/site.ts';
import type { Site } from './domain/site.ts';

const userAgentCharactersMax = 500;

interface OpenedSession {
  readonly sessionToken: string;
  readonly expiresAt: string;
  readonly device: { readonly token: string; readonly expiresAt: string };
}

/** Builds the `Set-Cookie` headers for a new session and for the browser that signed in. */
export function buildNewSessionCookies(
  site: Site,
  { sessionToken, expiresAt, device }: OpenedSession,
): string[] {
  return [
    buildSessionCookie(site, sessionToken, secondsUntil(expiresAt)),
    buildDeviceCookie(site, device.token, secondsUntil(device.expiresAt)),
  ];
}

function secondsUntil(expiresAt: string): number {
  return Math.max(0, Math.floor((Date.parse(expiresAt) - Date.now()) / 1000));
}

/** Returns what auth stores with the session about the browser that signs in. */
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

/** The user agent helps people to recognise a session in their list. */
function userAgentOf(headers: IncomingHttpHeaders): string | null {
  return headers['user-agent']?.slice(0, userAgentCharactersMax) ?? null;
}
