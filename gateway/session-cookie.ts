import type { IncomingHttpHeaders } from 'node:http';

import { sessionCookie } from './domain/site.ts';
import type { Site } from './domain/site.ts';

const secondsMax = 7 * 24 * 60 * 60;
const userAgentCharactersMax = 500;

/** `Set-Cookie` for a session that auth has opened: it lasts as long as the session may. */
export function newSessionCookie(
  site: Site,
  { sessionToken, expiresAt }: { readonly sessionToken: string; readonly expiresAt: string },
): string {
  const seconds = Math.floor((Date.parse(expiresAt) - Date.now()) / 1000);
  return sessionCookie(site, sessionToken, Math.max(0, Math.min(seconds, secondsMax)));
}

/** What a person recognises a session by in the list of theirs. */
export function userAgentOf(headers: IncomingHttpHeaders): string | null {
  return headers['user-agent']?.slice(0, userAgentCharactersMax) ?? null;
}
