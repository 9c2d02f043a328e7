import { formatCheckedToken, isCheckedToken } from './checked-token.ts';

/** A prefix of its own, so that a session is never taken for a bearer, nor an agent key for a cookie. */
const sessionPrefix = 'ses_';
const signInLinkPrefix = 'sil_';

export function formatSessionToken(random: Uint8Array): string {
  return formatCheckedToken(sessionPrefix, random);
}

export function isSessionToken(text: string): boolean {
  return isCheckedToken(sessionPrefix, text);
}

export function formatSignInToken(random: Uint8Array): string {
  return formatCheckedToken(signInLinkPrefix, random);
}

export function isSignInToken(text: string): boolean {
  return isCheckedToken(signInLinkPrefix, text);
}
